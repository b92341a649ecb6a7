/**
 * Loaded into the service before its program (`--import`): prints each turn of the event loop that takes
 * long, with the CPU time of the main thread that it took. CPU time means the same on a loaded machine.
 * A turn is one callback of Node.js with the promises that it settles.
 */
import { createHook } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const PRINTED_FROM_MS = 10
let beganAt = process.threadCpuUsage()

function endTurn(): void {
  const { user, system } = process.threadCpuUsage(beganAt)
  const ms = (user + system) / 1_000
  if (ms >= PRINTED_FROM_MS) writeSync(1, `${JSON.stringify({ turn_cpu_ms: ms })}\n`)
  beganAt = process.threadCpuUsage()
}

if (isMainThread) createHook({ trackPromises: false, before: endTurn }).enable()
