/** What the navigation leads to, in its order. An entry is there when its screen is. */
import type { LinkProps } from '@tanstack/react-router'
import {
  Activity,
  Ban,
  Building2,
  CodeXml,
  Gauge,
  Globe,
  Inbox,
  KeyRound,
  Layers,
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
}

export interface NavGroup {
  readonly title?: NavName
  readonly entries: readonly NavEntry[]
}

/**
 * Of a tenant: overview, emails, live; sending (mailers, domains, suppressions, protection); webhooks
 * (webhooks, deliveries); receiving (inbound, mailboxes); account (developers, settings).
 */
export const tenantNav: readonly NavGroup[] = [
  {
    entries: [
      { name: 'overview', icon: Gauge, to: '/t/$tenantId' },
      { name: 'emails', icon: Mail, to: '/t/$tenantId/emails' },
      { name: 'live', icon: Radio, to: '/t/$tenantId/live' },
    ],
  },
  {
    title: 'sending',
    entries: [
      { name: 'mailers', icon: Send, to: '/t/$tenantId/mailers' },
      { name: 'domains', icon: Globe, to: '/t/$tenantId/domains' },
      { name: 'suppressions', icon: Ban, to: '/t/$tenantId/suppressions' },
      { name: 'protection', icon: ShieldAlert, to: '/t/$tenantId/protection' },
    ],
  },
  {
    title: 'reporting',
    entries: [
      { name: 'webhooks', icon: Webhook, to: '/t/$tenantId/webhooks' },
      { name: 'deliveries', icon: PackageCheck, to: '/t/$tenantId/deliveries' },
    ],
  },
  {
    title: 'receiving',
    entries: [
      { name: 'inbound', icon: Inbox, to: '/t/$tenantId/inbound' },
      { name: 'mailboxes', icon: Mailbox, to: '/t/$tenantId/mailboxes' },
    ],
  },
  {
    title: 'account',
    entries: [
      { name: 'developers', icon: CodeXml, to: '/t/$tenantId/developers' },
      { name: 'settings', icon: Settings, to: '/t/$tenantId/settings' },
    ],
  },
]

/** Of the operator. */
export const operatorNav: readonly NavGroup[] = [
  {
    title: 'operator',
    entries: [
      { name: 'tenants', icon: Building2, to: '/operator/tenants' },
      { name: 'health', icon: Activity, to: '/operator/health' },
      { name: 'queues', icon: Layers, to: '/operator/queues' },
      { name: 'search', icon: Search, to: '/operator/search' },
      { name: 'system', icon: Server, to: '/operator/system' },
      { name: 'users', icon: Users, to: '/operator/users' },
      { name: 'oidc', icon: KeyRound, to: '/operator/oidc' },
      { name: 'audit', icon: ScrollText, to: '/operator/audit' },
    ],
  },
]
