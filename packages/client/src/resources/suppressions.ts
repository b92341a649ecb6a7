/** Who must not be sent to (spec §4.3; contract §3, §5). */
import type {
  DeleteSuppressionAnswer,
  ListSuppressionsAnswer,
  ListSuppressionsQuery,
  SubscribeEmailAnswer,
  Suppression,
  UnsubscribeEmailAnswer,
} from '@postrider/contract'
import { eachListed } from '../core/pages.ts'
import type { RequestOptions, Send } from '../core/request.ts'

const suppressionsPath = '/v1/suppressions'

export function subscribeEmail(
  send: Send,
  email: string,
  options?: RequestOptions,
): Promise<SubscribeEmailAnswer> {
  return setReceiving(send, '/v1/email/subscribe', email, options)
}

export function unsubscribeEmail(
  send: Send,
  email: string,
  options?: RequestOptions,
): Promise<UnsubscribeEmailAnswer> {
  return setReceiving(send, '/v1/email/unsubscribe', email, options)
}

function setReceiving<Answer>(
  send: Send,
  path: string,
  email: string,
  options: RequestOptions | undefined,
): Promise<Answer> {
  return send({ method: 'POST', path, body: { email }, isIdempotent: true }, options)
}

export function listSuppressions(
  send: Send,
  filter: ListSuppressionsQuery = {},
  options?: RequestOptions,
): Promise<ListSuppressionsAnswer> {
  return send({ method: 'GET', path: suppressionsPath, query: filter }, options)
}

export function eachSuppression(
  send: Send,
  filter: ListSuppressionsQuery = {},
  options?: RequestOptions,
): AsyncGenerator<Suppression, void, undefined> {
  return eachListed(filter, {
    list: (page) => listSuppressions(send, page, options),
    entriesOf: (answer) => answer.suppressions,
    options,
  })
}

export function deleteSuppression(
  send: Send,
  email: string,
  options?: RequestOptions,
): Promise<DeleteSuppressionAnswer> {
  const path = `${suppressionsPath}/{email}`
  return send({ method: 'DELETE', path, parameters: { email } }, options)
}
