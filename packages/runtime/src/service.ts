import { runTask } from './task.ts'

/**
 * Something with a lifecycle. `stop` may be called twice, and before `start`.
 */
export interface Service {
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts services in order and stops them in the opposite one. A start that fails stops all of them;
 * a stop that fails does not keep the others from stopping. Services that were never started are
 * stopped too: a pool of connections is open from its first use on, which may come before the start.
 */
export function createServiceGroup(name: string, services: readonly Service[]): Service {
  let open = [...services]
  async function stop(): Promise<void> {
    const failures: unknown[] = []
    for (let service = open.pop(); service !== undefined; service = open.pop()) {
      try {
        await service.stop()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${name}: stopping failed`)
  }
  return {
    name,
    async start() {
      open = [...services]
      for (const service of services) {
        try {
          // What it starts bears its name (`task.ts`).
          await runTask(service.name, () => service.start())
        } catch (error) {
          await stop().catch(() => undefined)
          throw error
        }
      }
    },
    stop,
  }
}

/** For what is open from its first use on, and only has to be closed. */
export function closer(name: string, close: () => Promise<void>): Service {
  return { name, start: async () => undefined, stop: close }
}
