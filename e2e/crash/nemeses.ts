/** Who is killed when: each named failpoint once, or whoever the seed says whenever it says. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, RoleName } from './cluster.ts'
import type { ProcessName } from './history.ts'
import type { Nemesis } from './run-round.ts'

/** In each role's own order; the passage is one that a busy process comes to soon. */
export const namedFailpoints: Readonly<Record<RoleName, readonly string[]>> = {
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

/**
 * The roles go through their failpoints side by side; then the database is killed once; then sender
 * and dispatcher stand still until others have their work, and go on.
 */
export const namedNemesis: Nemesis = async ({ cluster }) => {
  await Promise.all(
    Object.entries(namedFailpoints).map(([role, failpoints]) =>
      goThrough(cluster, role as RoleName, failpoints),
    ),
  )
  await cluster.kill('database')
  await cluster.start('database')
  await delay(1000)
  await Promise.all([cluster.freeze('sender'), cluster.freeze('dispatcher')])
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

const KILLS = 10

export const randomNemesis: Nemesis = async ({ cluster, random }) => {
  const victims: readonly ProcessName[] = ['sender', 'sender', 'dispatcher', 'api', 'database']
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(200 + random.below(2000))
    const victim = random.pick(victims)
    await cluster.kill(victim)
    await delay(random.below(500))
    await cluster.start(victim)
  }
}
