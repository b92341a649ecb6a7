/** Processor time and memory of processes from /proc (Linux), and what is said of several runs. */
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

interface ProcessStat {
  readonly parent: number
  readonly ownTicks: number
  readonly waitedForTicks: number
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may hold anything, so count from its end.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (index: number) => Number(fields[index])
    return { parent: at(1), ownTicks: at(11) + at(12), waitedForTicks: at(13) + at(14) }
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((id) => Number.isInteger(id) && readStat(id)?.parent === pid)
}

/** CPU-seconds so far of one process. */
export function cpuSeconds(pid: number): number {
  return (readStat(pid)?.ownTicks ?? 0) / TICKS_PER_SECOND
}

/** The same with its children and theirs, those that have ended included. */
export function treeCpuSeconds(pid: number): number {
  const stat = readStat(pid)
  if (stat === undefined) return 0
  const below = childrenOf(pid).reduce((sum, child) => sum + treeCpuSeconds(child), 0)
  return (stat.ownTicks + stat.waitedForTicks) / TICKS_PER_SECOND + below
}

/** A process, its children and theirs, as they are now. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)]
}

export function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
