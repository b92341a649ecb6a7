/**
 * Structured logs: one canonical line per unit of work, `<noun>.<past-verb>` with every id,
 * counter, decision and duration. Never message content, secrets or header values.
 */
import pino from 'pino'

export type Logger = pino.Logger

const SECRET_NAMES = ['password', 'api_key', 'authorization', 'headers', 'secret']

export function createLogger(o: { level: string; destination?: pino.DestinationStream }): Logger {
  const options: pino.LoggerOptions = {
    level: o.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // A second wall: no code path logs these, and one that did by mistake would show nothing.
    redact: {
      paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]),
      censor: '[redacted]',
    },
    serializers: { err: serializeError },
  }
  return o.destination === undefined ? pino(options) : pino(options, o.destination)
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
