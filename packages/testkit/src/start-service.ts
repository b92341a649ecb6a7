/**
 * Starts the service as anyone would: its program as a process, configured by environment alone.
 * `POSTRIDER_*` of this process's own environment are kept away from it.
 */
import { programs } from './programs.ts'
import { type ProcessEnd, type RunningProcess, startProcess } from './start-process.ts'

export interface StartServiceOptions {
  /** Another version of it, by its main file. */
  readonly program?: string
  /** Without the prefix `POSTRIDER_`. The ports are free ones unless `PORT`, `INBOUND_PORT` are given. */
  readonly env: Readonly<Record<string, string | number>>
  /** Further environment, by its full names. */
  readonly processEnv?: Readonly<Record<string, string>>
  readonly readyTimeoutMs?: number
  readonly onLine?: (line: string) => void
}

export interface RunningService {
  /** `http://127.0.0.1:1234` */
  readonly origin: string
  readonly port: number
  /** Of the SMTP listener, where it has that role. */
  readonly inboundPort: number | undefined
  readonly process: RunningProcess
  /** Asks it to end in order, and resolves when it has. */
  stop(): Promise<ProcessEnd>
}

interface StartedLine {
  readonly port: number
  readonly inbound_port?: number
}

const STARTED = /"msg":"service\.started"/

export async function startService(o: StartServiceOptions): Promise<RunningService> {
  const env: Record<string, string | undefined> = { ...o.processEnv }
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('POSTRIDER_')) env[name] = undefined
  }
  for (const [name, value] of Object.entries({ PORT: 0, INBOUND_PORT: 0, ...o.env })) {
    env[`POSTRIDER_${name}`] = String(value)
  }
  const running = await startProcess({
    script: o.program ?? programs.service,
    env,
    ready: STARTED,
    ...(o.readyTimeoutMs === undefined ? {} : { readyTimeoutMs: o.readyTimeoutMs }),
    ...(o.onLine === undefined ? {} : { onLine: o.onLine }),
  })
  const started = JSON.parse(await running.waitForLine(STARTED)) as StartedLine
  const { port, inbound_port: inboundPort } = started
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    inboundPort,
    process: running,
    stop: () => running.kill('SIGTERM'),
  }
}
