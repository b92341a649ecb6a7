/**
 * One round of the crash test: start everything, send hundreds of mails with mixed fates to a webhook
 * receiver that refuses some of their events, let a nemesis kill processes meanwhile, heal, wait until
 * it is quiet, stop in order, judge the logs.
 *
 * The receiver is healed last: all that it does not refuse has come by then, also what was sent after
 * the poison had been refused for a while, and nothing but poison is left in the service's record.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createRandom,
  openNdjsonLog,
  type Random,
  type RunningProcess,
  startProcess,
} from '@postrider/testkit'
import { checkHistory } from './checker.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { followProgress, type Progress } from './drain.ts'
import { followLog } from './follow-log.ts'
import { readHistory, type SmtpLogFact } from './history.ts'
import { type Load, startLoad } from './load.ts'
import { makeMails, poison } from './mails.ts'
import { readDeliveries, waitUntilParted } from './read-deliveries.ts'
import type { Report } from './report.ts'
import { setUpTenants } from './set-up.ts'

/** Kills what it likes and starts it again; has everything running without failpoints at its end. */
export type Nemesis = (o: {
  readonly cluster: Cluster
  readonly random: Random
  readonly load: Load
  /** What the SMTP server saw since the last call. */
  readonly followSmtp: () => SmtpLogFact[]
}) => Promise<void>

const MAILS = 900
/** Sent when all else has come and only poison is refused, again and again. */
const LATE_MAILS = 30
const DRAIN_WITHIN_MS = 60_000
const LATE_WITHIN_MS = 30_000
const PARTED_WITHIN_MS = 15_000
/** Longer than any lease: what a lost owner or a second one would still do has happened by then. */
const QUIET_MS = 4_000
/** Mostly good; with refusals, and with answers that are cut off before or after the status. */
const ANSWERS = ['200', '200', '204', '200', '503', '200', '200', 'rst', '200', '200', '429', '200']
const REFUSALS = ['400', '422', '415']
/** The receiver of one tenant takes fewer events at once than a batch may have. */
const SHORT = { tenant: 'bee', events: 8 }
const testkit = (name: string): string =>
  new URL(`../../packages/testkit/src/${name}`, import.meta.url).pathname

export async function runRound(o: {
  readonly seed: number
  readonly nemesis: Nemesis
  /** In which the directory of its logs is made. */
  readonly parent?: string
  readonly say?: (line: string) => void
}): Promise<{ readonly report: Report; readonly directory: string }> {
  const say = o.say ?? (() => undefined)
  const directory = mkdtempSync(join(o.parent ?? tmpdir(), 'postrider-crash-'))
  const file = (name: string): string => join(directory, `${name}.ndjson`)
  const random = createRandom(o.seed)
  const tenants = new Map(['ant', 'bee', 'cat'].map((name) => [name, `canary${random.hex(16)}`]))
  const { mails, script } = makeMails({ random, count: MAILS, tenants })
  writeFileSync(join(directory, 'script.json'), JSON.stringify(script))
  const clientLog = openNdjsonLog(file('client'))
  const nemesisLog = openNdjsonLog(file('nemesis'))
  const cluster = await createCluster({ directory, log: nemesisLog })
  const peers: RunningProcess[] = []
  const startPeer = async (name: string, args: readonly string[]): Promise<Peer> => {
    const peer = await startProcess({ script: testkit(name), args, ready: /^listening on/ })
    peers.push(peer)
    const port = Number((await peer.waitForLine(/^listening on/)).split(' ').pop())
    return { port, pid: peer.pid }
  }
  try {
    const smtpUsers = { 'crash@sender.test': `password-${random.hex(24)}` }
    writeFileSync(join(directory, 'users.json'), JSON.stringify(smtpUsers))
    const smtpArgs = ['--log', file('smtp'), '--script', join(directory, 'script.json')]
    smtpArgs.push('--users', join(directory, 'users.json'))
    const hookArgs = ['--log', file('webhook'), '--answers', ANSWERS.join()]
    hookArgs.push('--poison', JSON.stringify(poison).slice(1, -1), '--refusals', REFUSALS.join())
    hookArgs.push('--most', `/hook/${SHORT.tenant}=${SHORT.events}`)
    const [smtp, webhook] = await Promise.all([
      startPeer('smtp-server-main.ts', smtpArgs),
      startPeer('webhook-receiver-main.ts', hookArgs),
      cluster.start('database'),
    ])
    await cluster.start('api')
    await Promise.all([cluster.start('sender'), cluster.start('dispatcher')])
    const { origin, adminToken } = cluster
    const apiKeys = await setUpTenants({
      ...{ origin, adminToken, tenants, smtpUsers },
      ...{ smtpPort: smtp.port, webhookPort: webhook.port },
      log: clientLog,
    })
    const world = { origin, tenants: apiKeys, random, log: clientLog }
    const load = startLoad({ ...world, mails: mails.slice(0, -LATE_MAILS) })
    await o.nemesis({ cluster, random, load, followSmtp: followLog(file('smtp')) })
    await load.finish()
    nemesisLog.append({ fact: 'healed' })
    const progress = followProgress(directory)
    await drain(progress, { isRefusing: true, withinMs: DRAIN_WITHIN_MS })
    await delay(QUIET_MS)
    const late = mails.slice(-LATE_MAILS).filter((mail) => !isPoison(mail.request))
    await startLoad({ ...world, mails: late }).complete()
    const heldUp = await drain(progress, { isRefusing: true, withinMs: LATE_WITHIN_MS })
    await waitUntilParted({ ...world, withinMs: PARTED_WITHIN_MS })
    await readDeliveries({ ...world, when: 'refusing' })
    process.kill(webhook.pid, 'SIGUSR2')
    const missing = await drain(progress, { isRefusing: false, withinMs: DRAIN_WITHIN_MS })
    clientLog.append({ fact: 'drained', complete: missing.length === 0 })
    say(
      `${load.sent + late.length} mails sent; held up by poison: ${heldUp.length}; missing after the drain: ${missing.length}`,
    )
    await delay(QUIET_MS)
    await readDeliveries({ ...world, when: 'drained' })
  } finally {
    await cluster.stopAll()
    await Promise.all(peers.map((peer) => peer.kill('SIGTERM')))
    clientLog.close()
    nemesisLog.close()
  }
  const report = checkHistory(readHistory(directory))
  if (report.verdict === 'green') rmSync(directory, { recursive: true, force: true })
  return { report, directory }
}

interface Peer {
  readonly port: number
  readonly pid: number
}

const isPoison = (request: { readonly custom_args?: Readonly<Record<string, unknown>> }): boolean =>
  request.custom_args?.poison === true

async function drain(
  progress: Progress,
  phase: { readonly isRefusing: boolean; readonly withinMs: number },
): Promise<string[]> {
  const endsAt = performance.now() + phase.withinMs
  for (;;) {
    const missing = progress.missing(phase)
    if (missing.length === 0 || performance.now() > endsAt) return missing
    await delay(250)
  }
}
