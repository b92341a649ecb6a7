/** Sending domains (interface §4.3; contract §3). */
import type {
  AddDomainAnswer,
  AddDomainBody,
  DeleteDomainAnswer,
  Domain,
  GetDomainAnswer,
  ListDomainsAnswer,
  ListDomainsQuery,
  RotateDomainKeyAnswer,
  VerifyDomainAnswer,
} from '@postrider/contract'
import { eachListed } from '../core/pages.ts'
import type { RequestOptions, Send } from '../core/request.ts'

const path = '/v1/domain'
const domainPath = '/v1/domain/{domain}'

export function addDomain(
  send: Send,
  body: AddDomainBody,
  options?: RequestOptions,
): Promise<AddDomainAnswer> {
  return send({ method: 'POST', path, body }, options)
}

export function listDomains(
  send: Send,
  filter: ListDomainsQuery = {},
  options?: RequestOptions,
): Promise<ListDomainsAnswer> {
  return send({ method: 'GET', path, query: filter }, options)
}

export function eachDomain(
  send: Send,
  filter: ListDomainsQuery = {},
  options?: RequestOptions,
): AsyncGenerator<Domain, void, undefined> {
  return eachListed(filter, {
    list: (page) => listDomains(send, page, options),
    entriesOf: (answer) => answer.domains,
    options,
  })
}

export function getDomain(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<GetDomainAnswer> {
  return send({ method: 'GET', path: domainPath, parameters: { domain } }, options)
}

export function verifyDomain(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<VerifyDomainAnswer> {
  return send({ method: 'POST', path: `${domainPath}/verify`, parameters: { domain } }, options)
}

export function rotateDomainKey(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<RotateDomainKeyAnswer> {
  return send({ method: 'POST', path: `${domainPath}/rotate`, parameters: { domain } }, options)
}

export function deleteDomain(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<DeleteDomainAnswer> {
  return send({ method: 'DELETE', path: domainPath, parameters: { domain } }, options)
}
