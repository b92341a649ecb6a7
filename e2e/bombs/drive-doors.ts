/** Sends bombs through every door of a running service, and says how long each kind blocked it. */
import { setTimeout } from 'node:timers/promises'
import type { RunningService } from '@postrider/testkit'
import { openAttachmentDoors } from './attachment-door.ts'
import type { Door, DoorDeps } from './door.ts'
import { openMailDoors } from './mail-doors.ts'
import { openMailboxDoors } from './mailbox-doors.ts'
import { openNameServerDoors } from './name-server-doors.ts'
import { openRelayDoors } from './relay-doors.ts'
import { openWebDoors } from './web-doors.ts'

/** Preload of the service: prints long turns of its event loop. */
export const TURN_METER = {
  NODE_OPTIONS: `--import ${new URL('./turn-meter.ts', import.meta.url).href}`,
}
/** 50 ms is the bound; machines that are slow or shared take up to five times as long. */
export const TURN_CPU_MS_MAX = 250

export interface Blocked {
  readonly door: string
  readonly kind: string
  readonly inputs: number
  /** Those that were refused for another reason than their content: they prove nothing. */
  readonly unread: readonly string[]
  /** CPU time of the longest turn of the event loop; 0 where none was long enough to be told. */
  readonly longestMs: number
  /** The input after which that turn was seen, or one that was under way beside it. */
  readonly after: string
}

const OPEN = [
  openWebDoors,
  openRelayDoors,
  openMailDoors,
  openAttachmentDoors,
  openNameServerDoors,
  openMailboxDoors,
]

export async function driveDoors(
  deps: DoorDeps,
  o: {
    readonly seed: number
    readonly count: number
    readonly mayGoOn?: () => boolean
    readonly onBlocked: (blocked: Blocked) => void
  },
): Promise<void> {
  for (const open of OPEN)
    for (const door of await open(deps)) {
      await drive(deps.world.service(), door, o)
      await door.close?.()
    }
}

async function drive(
  service: RunningService,
  door: Door,
  { seed, count, mayGoOn = () => true, onBlocked }: Parameters<typeof driveDoors>[1],
): Promise<void> {
  const byKind = Map.groupBy(door.inputs({ seed, count }), ({ kind }) => kind)
  for (const [kind, inputs] of byKind) {
    let seen = service.process.lines.length
    let longest = { ms: 0, after: '' }
    const look = async (after: string) => {
      await setTimeout(0)
      for (; seen < service.process.lines.length; seen++) {
        const ms = turnIn(service.process.lines[seen] ?? '')
        if (ms > longest.ms) longest = { ms, after }
      }
    }
    const unread: string[] = []
    let done = 0
    const left = inputs.values()
    const enterAll = async () => {
      for (const { name, text } of left) {
        if (!mayGoOn()) return
        if (!(await door.enter(text))) unread.push(name)
        done += 1
        await look(name)
      }
    }
    await Promise.all(Array.from({ length: door.atOnce ?? 1 }, enterAll))
    if (!mayGoOn()) return
    await door.settle?.()
    // Answered behind all that came before: the lines of long turns are here, too.
    const { status } = await fetch(`${service.origin}/healthz`)
    if (status !== 200) throw new Error(`/healthz answers ${status} after ${door.name}`)
    await look('the last of them')
    const { ms: longestMs, after } = longest
    onBlocked({ door: door.name, kind, inputs: done, unread, longestMs, after })
  }
}

/** In milliseconds; 0 of any other line. */
export function turnIn(line: string): number {
  const [, ms] = /^\{"turn_cpu_ms":([\d.]+)\}$/.exec(line) ?? []
  return ms === undefined ? 0 : Number(ms)
}

export function describeBlocked({ door, kind, inputs, longestMs, after }: Blocked): string {
  const what = after === '' ? '' : `, ${after}`
  return `${longestMs.toFixed(0)} ms of CPU by ${inputs} of ${kind} through ${door}${what}`
}
