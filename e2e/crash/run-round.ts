/**
 * One round of the crash test: start everything, send hundreds of mails with mixed fates, let a
 * nemesis kill processes meanwhile, heal, wait until it is quiet, stop in order, judge the logs.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openNdjsonLog, type RunningProcess, startProcess } from '@postrider/testkit'
import { checkHistory } from './checker.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { followProgress } from './drain.ts'
import { followLog } from './follow-log.ts'
import { readHistory, type SmtpLogFact } from './history.ts'
import { type Load, startLoad } from './load.ts'
import { makeMails } from './mails.ts'
import { createRandom, type Random } from './random.ts'
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
const DRAIN_WITHIN_MS = 90_000
/** Longer than any lease: what a lost owner or a second one would still do has happened by then. */
const QUIET_MS = 4_000
/** Mostly good; with refusals, and with answers that are cut off before or after the status. */
const ANSWERS = ['200', '200', '204', '200', '503', '200', '200', 'rst', '200', '200', '429', '200']
const testkit = (name: string): string =>
  new URL(`../../packages/testkit/src/${name}`, import.meta.url).pathname

export async function runRound(o: {
  readonly seed: number
  readonly nemesis: Nemesis
  readonly say?: (line: string) => void
}): Promise<{ readonly report: Report; readonly directory: string }> {
  const say = o.say ?? (() => undefined)
  const directory = mkdtempSync(join(tmpdir(), 'postrider-crash-'))
  const file = (name: string): string => join(directory, `${name}.ndjson`)
  const random = createRandom(o.seed)
  const tenants = new Map(['ant', 'bee', 'cat'].map((name) => [name, `canary${random.hex(16)}`]))
  const { mails, script } = makeMails({ random, count: MAILS, tenants })
  writeFileSync(join(directory, 'script.json'), JSON.stringify(script))
  const clientLog = openNdjsonLog(file('client'))
  const nemesisLog = openNdjsonLog(file('nemesis'))
  const cluster = await createCluster({ directory, log: nemesisLog })
  const peers: RunningProcess[] = []
  const startPeer = async (name: string, args: readonly string[]): Promise<number> => {
    const peer = await startProcess({ script: testkit(name), args, ready: /^listening on/ })
    peers.push(peer)
    return Number((await peer.waitForLine(/^listening on/)).split(' ').pop())
  }
  try {
    const smtpUsers = { 'crash@sender.test': `password-${random.hex(24)}` }
    writeFileSync(join(directory, 'users.json'), JSON.stringify(smtpUsers))
    const smtpArgs = ['--log', file('smtp'), '--script', join(directory, 'script.json')]
    smtpArgs.push('--users', join(directory, 'users.json'))
    const hookArgs = ['--log', file('webhook'), '--answers', ANSWERS.join()]
    const [smtpPort, webhookPort] = await Promise.all([
      startPeer('smtp-server-main.ts', smtpArgs),
      startPeer('webhook-receiver-main.ts', hookArgs),
      cluster.start('database'),
    ])
    await cluster.start('api')
    await Promise.all([cluster.start('sender'), cluster.start('dispatcher')])
    const { origin, adminToken } = cluster
    const apiKeys = await setUpTenants({
      ...{ origin, adminToken, tenants, smtpPort, smtpUsers, webhookPort },
      log: clientLog,
    })
    const load = startLoad({ origin, tenants: apiKeys, mails, random, log: clientLog })
    await o.nemesis({ cluster, random, load, followSmtp: followLog(file('smtp')) })
    await load.finish()
    nemesisLog.append({ fact: 'healed' })
    const missing = await drain(directory)
    clientLog.append({ fact: 'drained', complete: missing.length === 0 })
    say(`${load.sent} mails sent; ${missing.length} things still missing after the drain`)
    await delay(QUIET_MS)
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

async function drain(directory: string): Promise<string[]> {
  const progress = followProgress(directory)
  const endsAt = performance.now() + DRAIN_WITHIN_MS
  for (;;) {
    const missing = progress.missing()
    if (missing.length === 0 || performance.now() > endsAt) return missing
    await delay(250)
  }
}
