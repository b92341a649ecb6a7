/** Kills the processes that receive, read and report mail, and lets the IMAP server misbehave meanwhile. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ImapServer, Random } from '@postrider/testkit'
import type { Cluster } from '../cluster.ts'
import type { ProcessName } from '../history.ts'

const victims = ['inbound', 'inbound', 'mailbox', 'mailbox', 'dispatcher', 'database'] as const
const failpoints = [
  'inbound.after_store',
  'inbound.after_claim',
  'inbound.before_commit',
  'inbound.after_commit',
]
const FIRST_AFTER_MS = 200
const PAUSE_MS_MAX = 1_500
const AWAY_MS_MAX = 500
/** Everybody of the list, also where the messages are through sooner. */
const KILLS_MIN = victims.length

/** Until it is told that there is nothing more to disturb; answers how often the IMAP server misbehaved. */
export async function disturb(o: {
  readonly cluster: Cluster
  readonly imap: ImapServer
  readonly random: Random
  readonly isOver: () => boolean
}): Promise<number> {
  const { cluster, imap, random } = o
  let imapFaults = 0
  let bag: (typeof victims)[number][] = []
  /** Each comes up before any comes again. */
  const draw = (): (typeof victims)[number] => {
    if (bag.length === 0) bag = [...victims]
    const [victim = 'inbound'] = bag.splice(random.below(bag.length), 1)
    return victim
  }
  for (let kills = 0; kills < KILLS_MIN || !o.isOver(); kills += 1) {
    await delay(FIRST_AFTER_MS + random.below(PAUSE_MS_MAX))
    if (random.below(3) === 0) {
      misbehave(imap, random)
      imapFaults += 1
    }
    const victim = draw()
    await cluster.kill(victim)
    await delay(random.below(AWAY_MS_MAX))
    await cluster.start(victim, failpointFor(victim, random))
  }
  imap.setScript(undefined)
  return imapFaults
}

/** Some of those that read mail come back only to die at a chosen place. */
function failpointFor(victim: ProcessName, random: Random): string | undefined {
  const isReader = victim === 'inbound' || victim === 'mailbox'
  if (!isReader || random.below(3) > 0) return undefined
  return `${random.pick(failpoints)}=kill@${1 + random.below(5)}`
}

function misbehave(imap: ImapServer, random: Random): void {
  const faults = [
    () => imap.disconnect('rst'),
    () => imap.disconnect('BYE [UNAVAILABLE] maintenance'),
    () => imap.account().renumber('INBOX'),
    () => cutAnswers(imap, () => ({ bytesMax: 1 + random.below(2_000), ending: 'rst' })),
    () => cutAnswers(imap, () => ({ piecesMax: 1, raw: '* BYE now\r\n', ending: 'fin' })),
  ]
  random.pick(faults)()
}

/** The next two fetches. */
function cutAnswers(
  imap: ImapServer,
  cut: () => { bytesMax?: number; piecesMax?: number; raw?: string; ending: 'rst' | 'fin' },
): void {
  let left = 2
  imap.setScript(({ command }) => {
    if (command !== 'UID FETCH' || left === 0) return undefined
    left -= 1
    return cut()
  })
}
