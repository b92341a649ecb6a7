/** What a parsing thread is given, and how little it reads of what was too much for another. */
import { PARSE_LIMITS, type ParseLimits } from './parse-message.ts'

export interface ParseJob {
  /** Handed over. */
  readonly raw: Uint8Array<ArrayBuffer>
  /** Of the attempt before: only the headers are to be read. */
  readonly problem?: string
}

/** Of a thread. */
export interface ParseThreadData {
  /** Other threads have the processor first. */
  readonly isLowered: boolean
}

export const FALLBACK_LIMITS: ParseLimits = {
  ...PARSE_LIMITS,
  headerBytesMax: 32 * 1024,
  headersMax: 1_000,
}
