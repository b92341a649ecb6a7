/**
 * A part of the bench as a process of its own, so that its processor time is its own too: the
 * parent calls named functions of the child and gets what they return.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

type Handlers = Readonly<Record<string, (argument: never) => unknown>>

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

export interface Worker {
  readonly pid: number
  call<Result>(name: string, argument?: unknown): Promise<Result>
  stop(): Promise<void>
}

export async function startWorker(file: string, args: readonly string[] = []): Promise<Worker> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, [...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const waiting = new Map<number, (answer: Answer) => void>()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('message', (answer: Answer) => waiting.get(answer.id)?.(answer))
  child.once('exit', (code, signal) => {
    for (const [id, settle] of waiting)
      settle({ id, error: `${file} ended: ${signal ?? `code ${code}`}` })
  })
  let lastId = 0
  const worker: Worker = {
    pid: child.pid ?? -1,
    call<Result>(name: string, argument?: unknown) {
      lastId += 1
      const id = lastId
      return new Promise<Result>((resolve, reject) => {
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id)
          if (error === undefined) resolve(result as Result)
          else reject(new Error(error))
        })
        child.send({ id, name, argument }, (error) => {
          if (error !== null) waiting.get(id)?.({ id, error: String(error) })
        })
      })
    },
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
  await worker.call('ready')
  return worker
}

/** In the child: answers the parent's calls until it goes away. */
export function serveParent(handlers: Handlers): void {
  const all: Handlers = { ready: () => true, ...handlers }
  process.on('message', ({ id, name, argument }: { id: number; name: string; argument: never }) => {
    const run = async () => await all[name]?.(argument)
    run().then(
      (result) => process.send?.({ id, result }),
      (error: unknown) => process.send?.({ id, error: String(error) }),
    )
  })
  process.once('disconnect', () => process.exit(0))
}
