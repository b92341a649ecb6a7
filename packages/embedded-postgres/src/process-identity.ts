/**
 * Tells whether a process that was written down is still the same one: pids are used again, after a
 * reboot at once. On Linux by start time and boot id; elsewhere by the start time that ps prints.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Differs for every process that ever has this pid. */
  readonly startedAt: string
  /** Pids mean nothing outside of their namespace (containers) and machine. */
  readonly namespace: string
}

export function identifySelf(): ProcessIdentity {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid) ?? 'unknown',
    namespace: ownNamespace(),
  }
}

export function ownNamespace(): string {
  if (process.platform !== 'linux') return 'host'
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return `${bootId} ${readlinkSync('/proc/self/ns/pid')}`
}

/** Only for a process of our own namespace. */
export function isSameProcess(identity: Omit<ProcessIdentity, 'namespace'>): boolean {
  return startOf(identity.pid) === identity.startedAt
}

export function isAlive(pid: number): boolean {
  return startOf(pid) !== undefined
}

/** Undefined when there is no such process; a zombie is none. */
function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid)
}

function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold spaces and parentheses itself; state is field 3, start time field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
    return started.trim() || undefined
  } catch {
    return undefined
  }
}
