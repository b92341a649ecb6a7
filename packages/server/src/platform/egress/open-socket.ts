/**
 * A TCP connection to the first of several vetted addresses that answers (RFC 8305 §5).
 *
 * The next address is tried when one fails, and beside it when it has not answered after a quarter
 * of a second, so that one dead address costs little of the one deadline (`signal`).
 * Every socket made here keeps an error listener, so no late error of it can end the process.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import type { Descriptors } from '../process/descriptors.ts'
import { EgressError, systemCodeOf } from './egress-error.ts'
import type { ResolvedAddress } from './resolve-host.ts'

const NEXT_ADDRESS_MS = 250
const KEEP_ALIVE_AFTER_MS = 30_000

export function openSocket(
  addresses: readonly ResolvedAddress[],
  port: number,
  signal: AbortSignal,
  descriptors?: Pick<Descriptors, 'ranOut'>,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const pending = new Set<Socket>()
    let tried = 0
    let firstError: Error | undefined
    let timer: NodeJS.Timeout | undefined

    const finish = (winner?: Socket) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      for (const socket of pending) if (socket !== winner) socket.destroy()
      pending.clear()
    }
    const abort = () => {
      finish()
      reject(signal.reason)
    }
    const tryNext = () => {
      clearTimeout(timer)
      const address = addresses[tried]
      if (address === undefined) return
      tried += 1
      const socket = connectTcp({
        host: address.address,
        port,
        family: address.family,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
      })
      pending.add(socket)
      socket.once('connect', () => {
        if (!pending.has(socket)) return
        finish(socket)
        resolve(socket)
      })
      socket.on('error', (error) => {
        if (!pending.delete(socket)) return
        if (descriptors?.ranOut(error) === true) {
          finish()
          reject(noDescriptor(error))
          return
        }
        firstError ??= error
        if (tried < addresses.length) tryNext()
        else if (pending.size === 0) {
          finish()
          reject(connectFailed(firstError))
        }
      })
      if (tried < addresses.length) timer = setTimeout(tryNext, NEXT_ADDRESS_MS)
    }

    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    tryNext()
  })
}

/** Nobody was asked: it says nothing about the peer. */
function noDescriptor(cause: Error): EgressError {
  return new EgressError('busy', 'no free file descriptors', { cause })
}

function connectFailed(cause: Error): EgressError {
  const systemCode = systemCodeOf(cause)
  return new EgressError('connect', `connection failed (${systemCode ?? 'unknown'})`, {
    systemCode,
    cause,
  })
}
