/**
 * The listener on the default port, which another program may have (docs/reference/running.md#readiness). The
 * service then goes on without it, says so once, and tries again every 30 s: inbound mail begins when the
 * port is free.
 */
import type { Logger } from '../../platform/log.ts'
import { createPeriodicTask } from '../../platform/work/periodic-task.ts'
import type { InboundListener } from './listener.ts'

const AGAIN_MS = 30_000

export interface ListenerWhenFree extends InboundListener {
  /** Tries once more; the rounds do, too. */
  tryAgain(): Promise<number>
}

export function listenWhenFree(
  listener: InboundListener,
  o: { readonly port: number; readonly log: Logger },
): ListenerWhenFree {
  const { port, log } = o
  const rounds = createPeriodicTask({
    name: listener.name,
    log,
    intervalMs: AGAIN_MS,
    async round() {
      if (listener.isListening() || !(await canStart(listener))) return 0
      log.info({ port }, 'inbound_listener.started_late')
      return 1
    },
    failed: 'inbound_listener.not_started',
  })
  return {
    ...listener,
    tryAgain: rounds.runOnce,
    async start() {
      if (await canStart(listener)) return
      log.warn(
        { port, name: 'POSTRIDER_INBOUND_PORT' },
        'inbound_listener.port_taken: the service goes on without inbound mail by SMTP; set POSTRIDER_INBOUND_PORT, or POSTRIDER_ROLES without inbound',
      )
      await rounds.start()
    },
    async stop() {
      await rounds.stop()
      await listener.stop()
    },
  }
}

/** Throws what is not for lack of a free port. */
async function canStart(listener: InboundListener): Promise<boolean> {
  try {
    await listener.start()
    return true
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'EADDRINUSE') return false
    throw error
  }
}
