/**
 * Names the task that the event loop works on, so that a long block can be told with its cause
 * (`watchdog.ts`).
 *
 * A service's name covers all that it starts: its timers, sockets and promises. A request names itself
 * more closely. A socket that many tasks share (a database connection) belongs to none of them, so
 * code that continues after its answer calls `resumeTask`.
 *
 * A process has one event loop, so there is one listener in a process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const tasks = new AsyncLocalStorage<string>()

/** Is told whenever the event loop goes on with another task. */
let onTask: ((name: string | undefined) => void) | undefined

/** Runs `work` as the task `name`; what it starts belongs to the task, too. */
export function runTask<T>(name: string, work: () => T): T {
  onTask?.(name)
  return tasks.run(name, work)
}

/** Call after waiting for what several tasks share. */
export function resumeTask(): void {
  onTask?.(tasks.getStore())
}

/** The task that the running code belongs to. */
export function currentTask(): string | undefined {
  return tasks.getStore()
}

/** Takes the place of the listener before. Returns how to stop listening. */
export function listenToTasks(listener: (name: string | undefined) => void): () => void {
  onTask = listener
  return () => {
    if (onTask === listener) onTask = undefined
  }
}
