/** The operations of inbound routing (docs/reference/inbound.md#routes). */
import {
  configureInboundRoutingAnswer,
  configureInboundRoutingBody,
  createInboundUsernameAnswer,
  createInboundUsernameBody,
  deleteInboundDomainAnswer,
  deleteInboundUsernameAnswer,
  getInboundDomainAnswer,
  getInboundUsernameAnswer,
  inboundDomainParams,
  inboundUsernameParams,
  listInboundDomainsAnswer,
  listInboundDomainsQuery,
  listInboundUsernamesAnswer,
  listInboundUsernamesQuery,
  updateInboundDomainAnswer,
  updateInboundDomainBody,
  updateInboundUsernameAnswer,
  updateInboundUsernameBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { toWireSecret } from '../../webhooks/index.ts'
import { configureInboundRouting, type InboundDeps } from './configure-routing.ts'
import { deleteInboundDomain } from './delete-domain.ts'
import { getInboundDomain } from './get-domain.ts'
import { listInboundDomains } from './list-domains.ts'
import { toWireDomain, toWireUsername } from './routing-wire.ts'
import { updateInboundDomain } from './update-domain.ts'
import { createInboundUsername } from './usernames/create-username.ts'
import { deleteInboundUsername } from './usernames/delete-username.ts'
import { listInboundUsernames } from './usernames/list-usernames.ts'
import { readUsername } from './usernames/read-username.ts'
import { updateInboundUsername } from './usernames/update-username.ts'

export type InboundRoutesDeps = InboundDeps

const TAG = 'Inbound mail'
const CHECKED =
  'While ownership is not proven, the records are looked up first: at most 60 times a minute for a tenant, over all its domains. Where another tenant has proven the domain by more than its `MX`, the answer is 409 `domain_taken`.'
const RECEIVER_ERRORS = ['url_not_allowed', 'url_unreachable', 'rate_limited'] as const

export function inboundRoutes(app: FastifyInstance, deps: InboundRoutesDeps): void {
  domainRoutes(app, deps)
  usernameRoutes(app, deps)
}

function domainRoutes(app: FastifyInstance, deps: InboundRoutesDeps): void {
  const wire = (routed: Parameters<typeof toWireDomain>[0]) =>
    toWireDomain(routed, deps.inboundHost)
  addOperation(app, 'configureInboundRouting', {
    summary: 'Route the mail of a domain to a webhook',
    description:
      'Answers the records to publish. Mail is accepted as soon as one of them has been seen: the `MX` that leads here, or the `TXT` that proves ownership. The service looks them up now, at each getInboundDomain and updateInboundDomain, and when mail for the domain arrives. If several tenants have configured a domain, the `MX` proves it for none of them, and a `TXT` proves it for the tenant that it names. That `TXT` also takes over a domain that another tenant has by its `MX` alone. A verified sending domain of the tenant is proven already. A tenant may have 100 domains that are not verified. The URL is checked like that of a webhook. Every message makes an `INCOMING_EMAIL`, sent alone.',
    tag: TAG,
    scopes: ['mailers'],
    body: configureInboundRoutingBody,
    answer: configureInboundRoutingAnswer,
    errors: ['conflict', 'domain_taken', 'too_many_unverified', ...RECEIVER_ERRORS],
    async handle({ tenant, body }) {
      const routed = await configureInboundRouting(deps, tenant.tenantId, body)
      const inbound_domain = wire(routed)
      return { message: 'Inbound Routing Configured', inbound_domain, ...toWireSecret(routed) }
    },
  })
  addOperation(app, 'listInboundDomains', {
    summary: 'List inbound domains',
    tag: TAG,
    scopes: ['mailers', 'read'],
    query: listInboundDomainsQuery,
    answer: listInboundDomainsAnswer,
    async handle({ tenant, query }) {
      const { domains, ...next } = await listInboundDomains(deps, tenant.tenantId, query)
      return { message: 'Inbound Domains', inbound_domains: domains.map(wire), ...next }
    },
  })
  addOperation(app, 'getInboundDomain', {
    summary: 'Get an inbound domain, with the records to publish',
    description: CHECKED,
    tag: TAG,
    scopes: ['mailers', 'read'],
    params: inboundDomainParams,
    answer: getInboundDomainAnswer,
    errors: ['domain_taken', 'rate_limited'],
    async handle({ tenant, params }) {
      const routed = await getInboundDomain(deps, tenant.tenantId, params.domain)
      return { message: 'Inbound Domain Found', inbound_domain: wire(routed) }
    },
  })
  addOperation(app, 'updateInboundDomain', {
    summary: 'Change the webhook of an inbound domain',
    description: `What is left out stays; given \`headers\` replace the old ones as a whole. Another URL is checked as one of a webhook; usernames that have none of their own follow it. ${CHECKED}`,
    tag: TAG,
    scopes: ['mailers'],
    params: inboundDomainParams,
    body: updateInboundDomainBody,
    answer: updateInboundDomainAnswer,
    errors: ['domain_taken', ...RECEIVER_ERRORS],
    async handle({ tenant, params, body }) {
      const routed = await updateInboundDomain(deps, tenant.tenantId, params.domain, body)
      const inbound_domain = wire(routed)
      return { message: 'Inbound Domain Updated', inbound_domain, ...toWireSecret(routed) }
    },
  })
  addOperation(app, 'deleteInboundDomain', {
    summary: 'Stop routing the mail of a domain',
    description:
      'Its usernames go with it. No mail is accepted for it any more, and what waits for its webhooks is not sent; anybody may configure it.',
    tag: TAG,
    scopes: ['mailers'],
    params: inboundDomainParams,
    answer: deleteInboundDomainAnswer,
    async handle({ tenant, params }) {
      const routed = await deleteInboundDomain(deps, tenant.tenantId, params.domain)
      return { message: 'Inbound Domain Deleted', inbound_domain: wire(routed) }
    },
  })
}

function usernameRoutes(app: FastifyInstance, deps: InboundRoutesDeps): void {
  addOperation(app, 'createInboundUsername', {
    summary: 'Add a route for one local part of a domain',
    description:
      "A domain without usernames takes every local part; with them, only those. With a `url` or `headers` it has a webhook of its own, else its mail goes by the domain's, and `details.username` names it.",
    tag: TAG,
    scopes: ['mailers'],
    params: inboundDomainParams,
    body: createInboundUsernameBody,
    answer: createInboundUsernameAnswer,
    errors: ['conflict', ...RECEIVER_ERRORS],
    async handle({ tenant, params, body }) {
      const routed = await createInboundUsername(deps, tenant.tenantId, params.domain, body)
      const inbound_username = toWireUsername(routed)
      return { message: 'Inbound Username Created', inbound_username, ...toWireSecret(routed) }
    },
  })
  addOperation(app, 'listInboundUsernames', {
    summary: 'List the usernames of an inbound domain',
    tag: TAG,
    scopes: ['mailers', 'read'],
    params: inboundDomainParams,
    query: listInboundUsernamesQuery,
    answer: listInboundUsernamesAnswer,
    async handle({ tenant, params, query }) {
      const { usernames, ...next } = await listInboundUsernames(
        deps,
        tenant.tenantId,
        params.domain,
        query,
      )
      const listed = usernames.map(toWireUsername)
      return { message: 'Inbound Usernames', inbound_usernames: listed, ...next }
    },
  })
  addOperation(app, 'getInboundUsername', {
    summary: 'Get a username of an inbound domain',
    tag: TAG,
    scopes: ['mailers', 'read'],
    params: inboundUsernameParams,
    answer: getInboundUsernameAnswer,
    async handle({ tenant, params }) {
      const routed = await readUsername(deps.db, tenant.tenantId, params)
      return { message: 'Inbound Username Found', inbound_username: toWireUsername(routed) }
    },
  })
  addOperation(app, 'updateInboundUsername', {
    summary: 'Change the webhook of a username',
    description:
      "What is left out stays; given `headers` replace the old ones as a whole. A `url` of null is the domain's again. Without a `url` and headers it has no webhook of its own any more, and what waits for that is not sent.",
    tag: TAG,
    scopes: ['mailers'],
    params: inboundUsernameParams,
    body: updateInboundUsernameBody,
    answer: updateInboundUsernameAnswer,
    errors: [...RECEIVER_ERRORS],
    async handle({ tenant, params, body }) {
      const routed = await updateInboundUsername(deps, tenant.tenantId, params, body)
      const inbound_username = toWireUsername(routed)
      return { message: 'Inbound Username Updated', inbound_username, ...toWireSecret(routed) }
    },
  })
  addOperation(app, 'deleteInboundUsername', {
    summary: 'Delete a username of an inbound domain',
    description:
      'Its local part is refused from then on; after the last one the domain takes every local part again.',
    tag: TAG,
    scopes: ['mailers'],
    params: inboundUsernameParams,
    answer: deleteInboundUsernameAnswer,
    async handle({ tenant, params }) {
      const routed = await deleteInboundUsername(deps, tenant.tenantId, params)
      return { message: 'Inbound Username Deleted', inbound_username: toWireUsername(routed) }
    },
  })
}
