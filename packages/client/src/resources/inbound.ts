/** Routing of inbound mail (interface §4.3; contract §3, §3.5). */
import type {
  ConfigureInboundRoutingAnswer,
  ConfigureInboundRoutingBody,
  CreateInboundUsernameAnswer,
  CreateInboundUsernameBody,
  DeleteInboundDomainAnswer,
  DeleteInboundUsernameAnswer,
  GetInboundDomainAnswer,
  GetInboundUsernameAnswer,
  InboundDomain,
  InboundUsername,
  ListInboundDomainsAnswer,
  ListInboundDomainsQuery,
  ListInboundUsernamesAnswer,
  ListInboundUsernamesQuery,
  UpdateInboundDomainAnswer,
  UpdateInboundDomainBody,
  UpdateInboundUsernameAnswer,
  UpdateInboundUsernameBody,
} from '@postrider/contract'
import { eachListed } from '../core/pages.ts'
import type { RequestOptions, Send } from '../core/request.ts'

const path = '/v1/inbound/domain'
const domainPath = '/v1/inbound/domain/{domain}'
const usernamesPath = '/v1/inbound/domain/{domain}/username'
const usernamePath = '/v1/inbound/domain/{domain}/username/{username}'

/** `domain` names it. */
export type CreateInboundUsernameInput = CreateInboundUsernameBody & { readonly domain: string }

export function configureInboundRouting(
  send: Send,
  body: ConfigureInboundRoutingBody,
  options?: RequestOptions,
): Promise<ConfigureInboundRoutingAnswer> {
  return send({ method: 'POST', path, body }, options)
}

export function listInboundDomains(
  send: Send,
  page: ListInboundDomainsQuery = {},
  options?: RequestOptions,
): Promise<ListInboundDomainsAnswer> {
  return send({ method: 'GET', path, query: page }, options)
}

export function eachInboundDomain(
  send: Send,
  filter: ListInboundDomainsQuery = {},
  options?: RequestOptions,
): AsyncGenerator<InboundDomain, void, undefined> {
  return eachListed(filter, {
    list: (page) => listInboundDomains(send, page, options),
    entriesOf: (answer) => answer.inbound_domains,
    options,
  })
}

export function getInboundDomain(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<GetInboundDomainAnswer> {
  return send({ method: 'GET', path: domainPath, parameters: { domain } }, options)
}

export function updateInboundDomain(
  send: Send,
  domain: string,
  body: UpdateInboundDomainBody,
  options?: RequestOptions,
): Promise<UpdateInboundDomainAnswer> {
  return send({ method: 'PUT', path: domainPath, parameters: { domain }, body }, options)
}

export function deleteInboundDomain(
  send: Send,
  domain: string,
  options?: RequestOptions,
): Promise<DeleteInboundDomainAnswer> {
  return send({ method: 'DELETE', path: domainPath, parameters: { domain } }, options)
}

export async function createInboundUsername(
  send: Send,
  { domain, ...body }: CreateInboundUsernameInput,
  options?: RequestOptions,
): Promise<CreateInboundUsernameAnswer> {
  return send({ method: 'POST', path: usernamesPath, parameters: { domain }, body }, options)
}

export function listInboundUsernames(
  send: Send,
  domain: string,
  page: ListInboundUsernamesQuery = {},
  options?: RequestOptions,
): Promise<ListInboundUsernamesAnswer> {
  return send({ method: 'GET', path: usernamesPath, parameters: { domain }, query: page }, options)
}

export function eachInboundUsername(
  send: Send,
  domain: string,
  filter: ListInboundUsernamesQuery = {},
  options?: RequestOptions,
): AsyncGenerator<InboundUsername, void, undefined> {
  return eachListed(filter, {
    list: (page) => listInboundUsernames(send, domain, page, options),
    entriesOf: (answer) => answer.inbound_usernames,
    options,
  })
}

export function getInboundUsername(
  send: Send,
  domain: string,
  username: string,
  options?: RequestOptions,
): Promise<GetInboundUsernameAnswer> {
  return send({ method: 'GET', path: usernamePath, parameters: { domain, username } }, options)
}

export function updateInboundUsername(
  send: Send,
  domain: string,
  username: string,
  body: UpdateInboundUsernameBody,
  options?: RequestOptions,
): Promise<UpdateInboundUsernameAnswer> {
  const parameters = { domain, username }
  return send({ method: 'PUT', path: usernamePath, parameters, body }, options)
}

export function deleteInboundUsername(
  send: Send,
  domain: string,
  username: string,
  options?: RequestOptions,
): Promise<DeleteInboundUsernameAnswer> {
  return send({ method: 'DELETE', path: usernamePath, parameters: { domain, username } }, options)
}
