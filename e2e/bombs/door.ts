/** One way by which a stranger's bytes come into a running service, as a function of these bytes. */
import { PostriderError } from '@postrider/client'
import type { DnsServer } from '@postrider/testkit'
import type { World } from '../world.ts'

export interface Door {
  readonly name: string
  /** How many go through it at the same time; default 1. */
  readonly atOnce?: number
  /** What goes through it, in bytes. */
  readonly inputs: (o: { readonly seed: number; readonly count: number }) => readonly Input[]
  /** Whether the service read it. One that is refused for another reason than its content was not. */
  enter(text: string): Promise<boolean>
  /** Resolves once all that came in by it has been worked on. */
  settle?(): Promise<unknown>
  close?(): Promise<void>
}

export interface Input {
  readonly kind: string
  readonly name: string
  readonly text: string
}

export interface DoorDeps {
  readonly world: World
  readonly dns: DnsServer
}

export const WAIT_MS = 120_000
/** Where most of the time would go into waiting for answers. */
export const SEVERAL = 4
export const KIB = 1024

/** Refusals that no content leads to: of a key, a rate, a size, a time, a shortage; 0 is no answer. */
const UNREAD = new Set([0, 401, 403, 408, 413, 429, 502, 503])

/** True when the service took it. A refusal is an answer like any other. */
export async function isTaken(work: Promise<unknown>): Promise<boolean> {
  return (await outcomeOf(work)) === 'taken'
}

/** True when it was taken, or refused for its content. */
export async function isRead(work: Promise<unknown>): Promise<boolean> {
  const outcome = await outcomeOf(work)
  return outcome === 'taken' || !UNREAD.has(outcome)
}

async function outcomeOf(work: Promise<unknown>): Promise<'taken' | number> {
  try {
    await work
    return 'taken'
  } catch (error) {
    if (error instanceof PostriderError) return error.status ?? 0
    throw error
  }
}

/** Of an answer as bytes. The parser of HTTP refuses some heads without an answer. */
export function isReadHttp(answer: string): boolean {
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? []
  return status !== undefined && !UNREAD.has(Number(status))
}
