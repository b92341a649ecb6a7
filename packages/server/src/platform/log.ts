/**
 * Structured logs: one canonical line per unit of work, `<noun>.<past-verb>` with every id,
 * counter, decision and duration. Never message content, secrets or header values.
 */
import pino from 'pino'

export type Logger = pino.Logger

/** A second wall: no code path logs these, and one that did by mistake would show nothing. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'password',
  'api_key',
  'authorization',
  'headers',
  'secret',
])
const HIDDEN = '[redacted]'

export function createLogger(o: { level: string; destination?: pino.DestinationStream }): Logger {
  const options: pino.LoggerOptions = {
    level: o.level,
    base: { pid: process.pid },
    timestamp: createTimestamp(),
    formatters: { level: (label) => ({ level: label }), log: hideSecrets },
    serializers: { err: serializeError },
  }
  return o.destination === undefined ? pino(options) : pino(options, o.destination)
}

/** Writing a time out takes longer than the rest of a line does: lines of one millisecond share it. */
function createTimestamp(): () => string {
  let writtenMs = Number.NaN
  let written = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== writtenMs) {
      writtenMs = nowMs
      written = `,"time":"${new Date(nowMs).toISOString()}"`
    }
    return written
  }
}

/**
 * Lines that are written in one turn of the event loop leave in one write, at its end; the last ones
 * when the process ends by itself.
 */
export function createLogDestination(fd: number): LogDestination {
  const stream = pino.destination({ dest: fd, sync: false, minLength: WRITE_BYTES_MIN })
  let isScheduled = false
  let bytesWaiting = 0
  const flush = () => {
    isScheduled = false
    stream.flush()
  }
  stream.on('write', (bytes: number) => {
    bytesWaiting = Math.max(0, bytesWaiting - bytes)
  })
  // A flush during a write does nothing: what came meanwhile leaves when that one has ended.
  stream.on('drain', () => {
    if (bytesWaiting > 0) stream.flush()
  })
  return {
    write(line) {
      bytesWaiting += Buffer.byteLength(line)
      stream.write(line)
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
    flush: (done) => stream.flush(done),
    // It tells of no write: what it wrote would be waited for without end.
    flushSync() {
      stream.flushSync()
      bytesWaiting = 0
    },
  }
}

export interface LogDestination extends pino.DestinationStream {
  flush(done?: (error?: Error) => void): void
  flushSync(): void
}

/** So much is written before the turn ends. */
const WRITE_BYTES_MIN = 8_192

/** By name, of the fields and of objects in them. pino's own redaction takes as long as all the rest of a line. */
function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  let shown = fields
  for (const name in fields) {
    const value = fields[name]
    const hidden = SECRET_NAMES.has(name) ? HIDDEN : hideInside(value)
    if (hidden === value) continue
    if (shown === fields) shown = { ...fields }
    shown[name] = hidden
  }
  return shown
}

/** Errors show what their serializer picks. */
function hideInside(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  for (const name in value)
    if (SECRET_NAMES.has(name))
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [key, SECRET_NAMES.has(key) ? HIDDEN : inner]),
      )
  return value
}

interface LoggedError {
  readonly type: string
  readonly message: string
  readonly code?: unknown
  readonly stack?: string
  readonly cause?: LoggedError
}

/** An error without whatever a library has hung on it: those fields may hold bodies or secrets. */
function serializeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error).slice(0, 500) }
  const code: unknown = 'code' in error ? error.code : undefined
  return {
    type: error.name,
    message: error.message.slice(0, 2000),
    ...(code === undefined ? {} : { code }),
    ...(error.stack === undefined ? {} : { stack: error.stack.slice(0, 4000) }),
    ...(error.cause === undefined || depth > 3
      ? {}
      : { cause: serializeError(error.cause, depth + 1) }),
  }
}
