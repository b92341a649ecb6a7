/** What a parsing thread is given, and how little it reads of what was too much for another. */
import { PARSE_LIMITS, type ParseLimits } from './parse-message.ts'

export interface ParseJob {
  readonly raw: Uint8Array
  /** Of the attempt before: only the headers are to be read. */
  readonly problem?: string
}

export const FALLBACK_LIMITS: ParseLimits = {
  ...PARSE_LIMITS,
  headerBytesMax: 32 * 1024,
  headersMax: 1_000,
}
