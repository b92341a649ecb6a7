/**
 * TLS over a connected socket: the name in SNI and in the certificate is the tenant's host, never
 * the address that was dialled.
 */
import { isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { EgressError, systemCodeOf } from './egress-error.ts'
import { parseHost } from './parse-host.ts'

export interface TlsOptions {
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
  /** PEM; trusted instead of the system's authorities. */
  readonly ca?: string
  readonly secureContext?: SecureContext
  readonly alpnProtocols?: readonly string[]
}

export function secureSocket(
  socket: Socket,
  host: string,
  o: TlsOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      socket.destroy()
      return reject(signal.reason)
    }
    const name = nameOf(o.servername ?? host)
    const secured = connectTls({
      socket,
      host: name,
      ...(isIP(name) === 0 ? { servername: name } : {}),
      rejectUnauthorized: o.rejectUnauthorized ?? true,
      ...(o.ca === undefined ? {} : { ca: o.ca }),
      ...(o.secureContext === undefined ? {} : { secureContext: o.secureContext }),
      ...(o.alpnProtocols === undefined ? {} : { ALPNProtocols: [...o.alpnProtocols] }),
    })
    const finish = (settle: () => void) => {
      signal.removeEventListener('abort', abort)
      settle()
    }
    const fail = (error: Error) => {
      secured.destroy()
      socket.destroy()
      finish(() => reject(error))
    }
    const abort = () => fail(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    secured.on('error', (cause) => fail(tlsFailed(cause)))
    secured.once('close', () => fail(tlsFailed(undefined)))
    secured.once('secureConnect', () => finish(() => resolve(secured)))
  })
}

function nameOf(host: string): string {
  const parsed = parseHost(host)
  if (parsed === undefined) return host
  return parsed.kind === 'address' ? parsed.address : parsed.name
}

function tlsFailed(cause: Error | undefined): EgressError {
  const systemCode = cause === undefined ? 'ECONNRESET' : systemCodeOf(cause)
  return new EgressError('tls', `TLS failed (${systemCode ?? cause?.message ?? 'unknown'})`, {
    systemCode,
    cause,
  })
}
