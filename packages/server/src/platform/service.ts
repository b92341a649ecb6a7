/**
 * Something with a lifecycle. `stop` may be called twice, and before `start`.
 */
export interface Service {
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts services in order and stops them in the opposite one. A start that fails stops what had
 * been started; a stop that fails does not keep the others from stopping.
 */
export function createServiceGroup(name: string, services: readonly Service[]): Service {
  const started: Service[] = []
  async function stop(): Promise<void> {
    const failures: unknown[] = []
    for (let service = started.pop(); service !== undefined; service = started.pop()) {
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
      for (const service of services) {
        try {
          started.push(service)
          await service.start()
        } catch (error) {
          await stop().catch(() => undefined)
          throw error
        }
      }
    },
    stop,
  }
}
