/**
 * Starts a Node program as a process of its own, waits for a line that says it is ready, keeps what
 * it prints, and ends it by any signal. A process that is still there when the test run ends is
 * killed with it, so that a failed test leaves nothing behind.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createSignal } from './signal.ts'

export interface StartProcessOptions {
  /** The program: a path that `node` can run. */
  readonly script: string
  readonly args?: readonly string[]
  /** Laid over the environment of this process; `undefined` takes a name away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Another Node.js than that of this process, by its program. */
  readonly node?: string
  /** The user and group, where this process may choose. */
  readonly uid?: number
  /** Resolves once a line of stdout or stderr matches; without it, as soon as it is spawned. */
  readonly ready?: RegExp
  readonly readyTimeoutMs?: number
  readonly onLine?: (line: string) => void
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface RunningProcess {
  readonly pid: number
  /** Every line printed so far, stdout and stderr as they came. */
  readonly lines: readonly string[]
  readonly exited: Promise<ProcessEnd>
  /** Undefined while it runs. */
  readonly end: () => ProcessEnd | undefined
  waitForLine(pattern: RegExp, timeoutMs?: number): Promise<string>
  /** Sends the signal (SIGKILL unless told) and resolves when the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<ProcessEnd>
}

export async function startProcess(o: StartProcessOptions): Promise<RunningProcess> {
  const child = spawn(o.node ?? process.execPath, [o.script, ...(o.args ?? [])], {
    // The child needs PATH, HOME and the like of this process.
    env: withoutUndefined({ ...process.env, ...o.env }),
    cwd: o.cwd,
    ...(o.uid === undefined ? {} : { uid: o.uid, gid: o.uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const running = watch(child, o)
  if (o.ready !== undefined) {
    try {
      await running.waitForLine(o.ready, o.readyTimeoutMs ?? 30_000)
    } catch (cause) {
      await running.kill()
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new Error(`${o.script} did not become ready: ${reason}`, { cause })
    }
  }
  return running
}

function watch(child: ChildProcess, o: StartProcessOptions): RunningProcess {
  const lines: string[] = []
  const changed = createSignal()
  let end: ProcessEnd | undefined
  const killWithParent = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', killWithParent)
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      o.onLine?.(line)
      changed.notify()
    })
  }
  const exited = new Promise<ProcessEnd>((resolve, reject) => {
    child.once('error', reject)
    // 'close' and not 'exit': the last lines have been read by then.
    child.once('close', (code, signal) => {
      end = { code, signal }
      process.off('exit', killWithParent)
      changed.notify()
      resolve(end)
    })
  })
  exited.catch(() => changed.notify())
  return {
    pid: child.pid ?? -1,
    lines,
    exited,
    end: () => end,
    async waitForLine(pattern, timeoutMs) {
      const find = (): string | undefined => lines.find((line) => pattern.test(line))
      await changed.until(() => find() !== undefined || end !== undefined, {
        timeoutMs,
        describe: () =>
          `no line like ${pattern} from ${o.script}; it printed:\n${lines.join('\n')}`,
      })
      const line = find()
      if (line === undefined) {
        throw new Error(`${o.script} ended (${describeEnd(end)}):\n${lines.join('\n')}`)
      }
      return line
    },
    kill(signal = 'SIGKILL') {
      child.kill(signal)
      return exited
    },
  }
}

function describeEnd(end: ProcessEnd | undefined): string {
  return end === undefined ? 'still running' : `code ${end.code}, signal ${end.signal}`
}

function withoutUndefined(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
