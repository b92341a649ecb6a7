/** Which process is killed when: at each named failpoint once, or as the seed says. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, RoleName } from './cluster.ts'
import type { ProcessName, SmtpLogFact } from './history.ts'
import type { Load } from './load.ts'
import { lingering } from './mails.ts'
import type { Nemesis } from './run-round.ts'

/** In each role's own order; the passage is one that a busy process comes to soon. */
export const namedFailpoints: Readonly<Partial<Record<RoleName, readonly string[]>>> = {
  api: ['api.before_commit=kill@3', 'api.after_commit=kill@3'],
  sender: [
    'send.after_claim=kill@3',
    'send.after_connect=kill@2',
    'send.before_dot=kill@5',
    'send.after_dot=kill@5',
    'send.after_reply=kill@5',
    'send.after_finish=kill@5',
  ],
  dispatcher: [
    'dispatch.after_freeze=kill@4',
    'dispatch.after_post=kill@4',
    'dispatch.after_settle=kill@4',
  ],
}

const FAILPOINT_WITHIN_MS = 30_000
const DATABASE_KILLS = 3
const UNTIL_MS = 30_000

/**
 * The roles go through their failpoints side by side; then the database is killed; then sender and
 * dispatcher are suspended until others have their work, and resume.
 */
export const namedNemesis: Nemesis = async ({ cluster, load, followSmtp }) => {
  await Promise.all(
    Object.entries(namedFailpoints).map(([role, failpoints]) =>
      goThrough(cluster, role as RoleName, failpoints),
    ),
  )
  await killDatabaseAfterAnswers(cluster, load)
  await waitForLingering(followSmtp)
  await Promise.all([cluster.freeze('sender'), cluster.freeze('dispatcher')])
}

/**
 * Right after emails were accepted, and with nobody else at work: the commits of sender and
 * dispatcher would flush a commit that was answered without being flushed.
 */
async function killDatabaseAfterAnswers(cluster: Cluster, load: Load): Promise<void> {
  await Promise.all([cluster.stop('sender'), cluster.stop('dispatcher')])
  for (let kill = 0; kill < DATABASE_KILLS; kill += 1) {
    const enough = load.sent + 5
    await until(() => load.sent >= enough, 'answers to sends')
    await cluster.kill('database')
    await cluster.start('database')
  }
  await Promise.all([cluster.start('sender'), cluster.start('dispatcher')])
}

/** Until the first attempt of such a mail has just begun. */
async function waitForLingering(followSmtp: () => SmtpLogFact[]): Promise<void> {
  followSmtp()
  const isBegun = (fact: SmtpLogFact): boolean =>
    fact.fact === 'reply.given' &&
    fact.phase === 'data' &&
    fact.recipient?.startsWith(lingering) === true &&
    fact.attempt === 1
  await until(() => followSmtp().some(isBegun), 'a lingering mail')
  // The message follows the 354 in no time; its answer takes more than a second.
  await delay(100)
}

async function until(isMet: () => boolean, what: string): Promise<void> {
  const endsAt = performance.now() + UNTIL_MS
  while (!isMet()) {
    if (performance.now() > endsAt) throw new Error(`waited ${UNTIL_MS} ms for ${what}`)
    await delay(5)
  }
}

async function goThrough(
  cluster: Cluster,
  role: RoleName,
  failpoints: readonly string[],
): Promise<void> {
  await cluster.stop(role)
  for (const failpoint of failpoints) {
    await cluster.start(role, failpoint)
    // One that does not fire makes the round void: the checker sees it in the log.
    if (!(await cluster.waitForFailpoint(role, FAILPOINT_WITHIN_MS))) await cluster.stop(role)
  }
  await cluster.start(role)
}

const victims: readonly ProcessName[] = [
  'sender',
  'sender',
  'dispatcher',
  'dispatcher-2',
  'api',
  'database',
]

/** Two dispatchers, which take each other's streams over whenever one of them dies. */
export const randomNemesis =
  (kills: number): Nemesis =>
  async ({ cluster, random }) => {
    await cluster.start('dispatcher-2')
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(200 + random.below(2000))
      const victim = random.pick(victims)
      await cluster.kill(victim)
      await delay(random.below(500))
      await cluster.start(victim)
    }
  }
