/** The operations on sending domains (docs/reference/domains.md#sending-domains). */
import {
  addDomainAnswer,
  addDomainBody,
  deleteDomainAnswer,
  domainParams,
  getDomainAnswer,
  listDomainsAnswer,
  listDomainsQuery,
  rotateDomainKeyAnswer,
  updateDomainAnswer,
  updateDomainBody,
  verifyDomainAnswer,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import { type AddDomainDeps, addDomain } from './add/add-domain.ts'
import { type DeleteDomainDeps, deleteDomain } from './change/delete-domain.ts'
import { rotateKey } from './change/rotate-key.ts'
import { type UpdateDomainDeps, updateDomain } from './change/update-domain.ts'
import { type VerifyDeps, verifyDomain } from './check/verify-domain.ts'
import { settingsOf, toWire } from './domain-wire.ts'
import { getDomain } from './get-domain.ts'
import { listDomains } from './list-domains.ts'

export type DomainRoutesDeps = AddDomainDeps & DeleteDomainDeps & UpdateDomainDeps & VerifyDeps

const tag = 'Domains'

export function domainRoutes(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addRoute(app, deps)
  readRoutes(app, deps)
  updateRoute(app, deps)
  verifyRoute(app, deps)
  rotateKeyRoute(app, deps)
  deleteRoute(app, deps)
}

/** Read before the change: what is done is not to be answered by the failure of a read. */
async function settingsBefore(deps: DomainRoutesDeps, tenantId: string, name: string) {
  return settingsOf(deps, await getDomain(deps, tenantId, name))
}

function addRoute(app: FastifyInstance, deps: AddDomainDeps): void {
  addOperation(app, 'addDomain', {
    summary: 'Add a sending domain',
    description:
      'Creates the domain at the relay provider and answers the records to publish for it. From then on the service checks the records by itself, and at each verifyDomain. Once all required records are valid and the provider agrees, every address of the domain can send.',
    tag,
    scopes: ['mailers'],
    body: addDomainBody,
    answer: addDomainAnswer,
    errors: [
      'conflict',
      'domain_taken',
      'no_relay',
      'relay_required',
      'relay_unreachable',
      'relay_auth_failed',
      'relay_refused',
      'rate_limited',
    ],
    async handle({ tenant, body }) {
      const domain = await addDomain(deps, tenant.tenantId, body)
      const settings = await settingsOf(deps, domain)
      return { message: 'Domain Added', domain: toWire(domain, settings) }
    },
  })
}

function readRoutes(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addOperation(app, 'listDomains', {
    summary: 'List sending domains',
    tag,
    scopes: ['mailers', 'read'],
    query: listDomainsQuery,
    answer: listDomainsAnswer,
    async handle({ tenant, query }) {
      return { message: 'Domains', ...(await listDomains(deps, tenant.tenantId, query)) }
    },
  })
  addOperation(app, 'getDomain', {
    summary: 'Get a sending domain, with the records to publish',
    tag,
    scopes: ['mailers', 'read'],
    params: domainParams,
    answer: getDomainAnswer,
    async handle({ tenant, params }) {
      const domain = await getDomain(deps, tenant.tenantId, params.domain)
      const settings = await settingsOf(deps, domain)
      return { message: 'Domain Found', domain: toWire(domain, settings) }
    },
  })
}

function updateRoute(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addOperation(app, 'updateDomain', {
    summary: 'Change how a sending domain sends',
    description:
      'Its limits, and what follows when the answer of its relay provider was lost. Disabling it is setMailerActive.',
    tag,
    scopes: ['mailers'],
    params: domainParams,
    body: updateDomainBody,
    answer: updateDomainAnswer,
    async handle({ tenant, params, body }) {
      const { tenantId } = tenant
      const { domain, settings } = await updateDomain(deps, tenantId, params.domain, body)
      return { message: 'Domain Updated', domain: toWire(domain, settings) }
    },
  })
}

function verifyRoute(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addOperation(app, 'verifyDomain', {
    summary: 'Check a sending domain now',
    description:
      'Looks up every record, asks the provider where nothing else is missing, and emits `DOMAIN_VERIFICATION` with the result. Name servers or a provider that do not answer leave everything as it was.',
    tag,
    scopes: ['mailers'],
    params: domainParams,
    answer: verifyDomainAnswer,
    errors: [
      'domain_taken',
      'relay_unreachable',
      'relay_auth_failed',
      'relay_refused',
      'rate_limited',
    ],
    async handle({ tenant, params, traceparent }) {
      const { tenantId } = tenant
      const settings = await settingsBefore(deps, tenantId, params.domain)
      const domain = await verifyDomain(deps, { tenantId, name: params.domain, traceparent })
      const isVerified = domain.verifiedAt !== undefined
      return {
        message: isVerified ? 'Domain Verified' : 'Domain Not Verified',
        domain: toWire(domain, settings),
      }
    },
  })
}

function rotateKeyRoute(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addOperation(app, 'rotateDomainKey', {
    summary: 'Replace the DKIM key of a sending domain',
    description:
      'Makes a new key, whose record is answered with `rotation: "next"`. As soon as that is seen, the provider signs with it; the record of the old key then has `rotation: "previous"` and may go after `removable_at`. Repeating it meanwhile answers the same key. For providers that are given keys; others change theirs themselves.',
    tag,
    scopes: ['mailers'],
    params: domainParams,
    answer: rotateDomainKeyAnswer,
    errors: ['conflict', 'rate_limited'],
    async handle({ tenant, params }) {
      const settings = await settingsBefore(deps, tenant.tenantId, params.domain)
      const domain = await rotateKey(deps, tenant.tenantId, params.domain)
      return { message: 'Domain Key Rotated', domain: toWire(domain, settings) }
    },
  })
}

function deleteRoute(app: FastifyInstance, deps: DomainRoutesDeps): void {
  addOperation(app, 'deleteDomain', {
    summary: 'Delete a sending domain',
    description:
      'From the answer on nothing is sent for it; mail that waits fails at its next attempt. At the provider it is deleted, too, if need be later; not where the account had it before it was added here.',
    tag,
    scopes: ['mailers'],
    params: domainParams,
    answer: deleteDomainAnswer,
    async handle({ tenant, params }) {
      const settings = await settingsBefore(deps, tenant.tenantId, params.domain)
      const domain = await deleteDomain(deps, tenant.tenantId, params.domain)
      return { message: 'Domain Deleted', domain: toWire(domain, settings) }
    },
  })
}
