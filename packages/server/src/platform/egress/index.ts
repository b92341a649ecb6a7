/** Guarded egress: the front door (see egress.ts). */
export type { ConnectOptions, ConnectProgress } from './connector.ts'
export { createEgress, type Egress, type EgressOptions } from './egress.ts'
export { EgressError, type EgressErrorCode, type RequestTimings } from './egress-error.ts'
export { parseHost } from './parse-host.ts'
export { isRefusedPort, portOf } from './refused-ports.ts'
export type { Lookup, ResolvedAddress } from './resolve-host.ts'
export { secureSocket, type TlsOptions } from './secure-socket.ts'
export type { HttpAnswer, RequestOptions } from './send-request.ts'
