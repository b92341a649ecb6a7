/** Accounts at relay providers (contract §3.4). */
import type {
  ConfigureRelayAnswer,
  DeleteRelayAnswer,
  GetRelayAnswer,
  RelayBodies,
  RelayKind,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'

const relayPath = '/v1/relay/{kind}'

/** Each kind with what it takes. */
export type ConfigureRelayInput = {
  [Kind in RelayKind]: RelayBodies[Kind] & { kind: Kind }
}[RelayKind]

export async function configureRelay(
  send: Send,
  input: ConfigureRelayInput,
  options?: RequestOptions,
): Promise<ConfigureRelayAnswer> {
  const { kind, ...body } = input
  return send({ method: 'PUT', path: relayPath, parameters: { kind }, body }, options)
}

export function getRelay(
  send: Send,
  kind: RelayKind,
  options?: RequestOptions,
): Promise<GetRelayAnswer> {
  return send({ method: 'GET', path: relayPath, parameters: { kind } }, options)
}

export function deleteRelay(
  send: Send,
  kind: RelayKind,
  options?: RequestOptions,
): Promise<DeleteRelayAnswer> {
  return send({ method: 'DELETE', path: relayPath, parameters: { kind } }, options)
}
