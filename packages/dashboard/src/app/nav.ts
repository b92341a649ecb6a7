/** What the navigation leads to, in its order. An entry is there when its screen is. */
import type { OperationId } from '@postrider/client'
import type { LinkProps } from '@tanstack/react-router'
import {
  Activity,
  Ban,
  Building2,
  CodeXml,
  FlaskConical,
  Gauge,
  Globe,
  Inbox,
  KeyRound,
  Layers,
  LayoutTemplate,
  type LucideIcon,
  Mail,
  Mailbox,
  PackageCheck,
  Radio,
  ScrollText,
  Search,
  Send,
  Server,
  Settings,
  ShieldAlert,
  Users,
  Webhook,
} from 'lucide-react'
import type { words } from './words.ts'

export type NavName = keyof (typeof words)['en']['nav']

export interface NavEntry {
  readonly name: NavName
  readonly icon: LucideIcon
  readonly to: NonNullable<LinkProps['to']>
  /** What the screen cannot do without; undefined: it is open to every role. */
  readonly reads?: OperationId
}

export interface NavGroup {
  readonly title?: NavName
  readonly entries: readonly NavEntry[]
}

/**
 * Of a tenant: overview, emails, live; sending (mailers, domains, templates, suppressions, protection); webhooks
 * (webhooks, deliveries); receiving (inbound, mailboxes); account (developers, test inbox, settings).
 */
export const tenantNav: readonly NavGroup[] = [
  {
    entries: [
      { name: 'overview', icon: Gauge, to: '/t/$tenantId', reads: 'getOverview' },
      { name: 'emails', icon: Mail, to: '/t/$tenantId/emails', reads: 'getEmailLogs' },
      { name: 'live', icon: Radio, to: '/t/$tenantId/live', reads: 'streamEvents' },
    ],
  },
  {
    title: 'sending',
    entries: [
      { name: 'mailers', icon: Send, to: '/t/$tenantId/mailers', reads: 'listMailers' },
      { name: 'domains', icon: Globe, to: '/t/$tenantId/domains', reads: 'listDomains' },
      {
        name: 'templates',
        icon: LayoutTemplate,
        to: '/t/$tenantId/templates',
        reads: 'listTemplates',
      },
      {
        name: 'suppressions',
        icon: Ban,
        to: '/t/$tenantId/suppressions',
        reads: 'listSuppressions',
      },
      {
        name: 'protection',
        icon: ShieldAlert,
        to: '/t/$tenantId/protection',
        reads: 'getPhishingSettings',
      },
    ],
  },
  {
    title: 'reporting',
    entries: [
      { name: 'webhooks', icon: Webhook, to: '/t/$tenantId/webhooks', reads: 'listWebhooks' },
      {
        name: 'deliveries',
        icon: PackageCheck,
        to: '/t/$tenantId/deliveries',
        reads: 'listWebhookDeliveries',
      },
    ],
  },
  {
    title: 'receiving',
    entries: [
      { name: 'inbound', icon: Inbox, to: '/t/$tenantId/inbound', reads: 'listInboundMessages' },
      { name: 'mailboxes', icon: Mailbox, to: '/t/$tenantId/mailboxes', reads: 'listMailers' },
    ],
  },
  {
    title: 'account',
    entries: [
      { name: 'developers', icon: CodeXml, to: '/t/$tenantId/developers' },
      {
        name: 'testInbox',
        icon: FlaskConical,
        to: '/t/$tenantId/test-inbox',
        reads: 'getEmailLogs',
      },
      { name: 'settings', icon: Settings, to: '/t/$tenantId/settings', reads: 'getUsage' },
    ],
  },
]

/** Of the operator. */
export const operatorNav: readonly NavGroup[] = [
  {
    title: 'operator',
    entries: [
      { name: 'tenants', icon: Building2, to: '/operator/tenants', reads: 'listTenants' },
      { name: 'health', icon: Activity, to: '/operator/health', reads: 'getHealth' },
      { name: 'queues', icon: Layers, to: '/operator/queues', reads: 'getQueues' },
      { name: 'search', icon: Search, to: '/operator/search', reads: 'search' },
      { name: 'system', icon: Server, to: '/operator/system', reads: 'getSystem' },
      { name: 'users', icon: Users, to: '/operator/users', reads: 'listUsers' },
      { name: 'oidc', icon: KeyRound, to: '/operator/oidc', reads: 'getSystem' },
      { name: 'audit', icon: ScrollText, to: '/operator/audit', reads: 'listAuditOfAllTenants' },
    ],
  },
]
