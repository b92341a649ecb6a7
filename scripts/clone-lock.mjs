/**
 * One process at a time in a clone for work of a kind, such as an install. Imports Node's own modules alone, as
 * nothing may be installed yet.
 *
 * The lock file beside package.json is touched while its holder lives and names the program that works, so one
 * left by a killed holder goes stale by itself, but not before the program which it left behind has ended.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const staleAfterMs = 15_000
const orphanWaitMsMax = 300_000

/** An expected failure: its message is all that the user needs. */
export class SetupError extends Error {}

/** `work` is given a function that names the program which works, by its process id. */
export async function withCloneLock(kind, work) {
  const file = join(root, `.postrider-${kind}.lock`)
  await take(file, kind)
  const touching = setInterval(() => touch(file), staleAfterMs / 5)
  const release = () => rmSync(file, { force: true })
  let worker
  const interrupted = () => {
    // It may not have been told: signals of a terminal go to all, those of others to one.
    if (isRunning(worker)) process.kill(worker, 'SIGTERM')
    release()
    process.exit(130)
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    return await work((pid) => {
      worker = pid
      writeFileSync(file, `${pid}\n`)
    })
  } finally {
    clearInterval(touching)
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    release()
  }
}

async function take(file, kind) {
  for (let told = false; ; ) {
    try {
      const descriptor = openSync(file, 'wx')
      writeSync(descriptor, `${process.pid}\n`)
      closeSync(descriptor)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw notWritable(kind, error)
    }
    if (isStale(file)) {
      rmSync(file, { force: true })
      continue
    }
    if (!told) console.error(`Waiting for another ${kind} in this folder ...`)
    told = true
    await sleep(200)
  }
}

function isStale(file) {
  const stat = statSync(file, { throwIfNoEntry: false })
  const ageMs = stat ? Date.now() - stat.mtimeMs : 0
  if (ageMs <= staleAfterMs) return false
  const holder = existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined
  return ageMs > orphanWaitMsMax || !isRunning(holder)
}

function isRunning(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function touch(file) {
  if (statSync(file, { throwIfNoEntry: false })) utimesSync(file, new Date(), new Date())
}

function notWritable(kind, cause) {
  return new SetupError(
    `Postrider must write to ${root} (${kind}), and cannot (${cause.code}).\n` +
      'Run the command as the user who owns the clone.',
    { cause },
  )
}
