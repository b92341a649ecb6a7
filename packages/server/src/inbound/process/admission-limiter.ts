/**
 * How much is read at once in this process, so that no tenant's mail delays another's: of each tenant so
 * many messages and so many bytes, and of large messages only a part of all places, so that small ones
 * find one. A message above the limit is admitted alone.
 *
 * A message that was taken before without an end is read with no other such beside it: where one of them
 * ends the process, the others are not to be blamed for it again and again.
 */

import { LARGE_BYTES } from '../ingest/received-mail.ts'
import type { DueMessage } from './queue-store.ts'

export interface AdmissionLimiter {
  /** Takes places for as many as there are, the tenants in turns; answers whose. */
  admit<M extends DueMessage>(due: readonly M[]): M[]
  leave(message: DueMessage): void
  readonly isFull: boolean
}

export interface AdmissionLimits {
  readonly messagesMax: number
  readonly ofTenantMax: number
  /** From here on a message is large. */
  readonly largeBytesMin: number
  readonly largeMax: number
  readonly largeBytesMax: number
  readonly largeBytesOfTenantMax: number
}

const MIB = 1024 * 1024
export const usualAdmission: AdmissionLimits = {
  messagesMax: 64,
  ofTenantMax: 24,
  largeBytesMin: LARGE_BYTES,
  largeMax: 24,
  largeBytesMax: 96 * MIB,
  largeBytesOfTenantMax: 32 * MIB,
}

interface Use {
  messages: number
  suspects: number
  large: number
  largeBytes: number
}

export function createAdmissionLimiter(o: AdmissionLimits): AdmissionLimiter {
  const all: Use = { messages: 0, suspects: 0, large: 0, largeBytes: 0 }
  /** Without those that have none. */
  const tenants = new Map<string, Use>()

  function hasRoom(own: Use, { bytes, isSuspect }: DueMessage): boolean {
    if (all.messages >= o.messagesMax || own.messages >= o.ofTenantMax) return false
    if (isSuspect && all.suspects > 0) return false
    if (bytes < o.largeBytesMin) return true
    return (
      all.large < o.largeMax &&
      (all.large === 0 || all.largeBytes + bytes <= o.largeBytesMax) &&
      (own.large === 0 || own.largeBytes + bytes <= o.largeBytesOfTenantMax)
    )
  }

  function change({ tenantId, bytes, isSuspect }: DueMessage, sign: 1 | -1): void {
    const own = tenants.get(tenantId) ?? { messages: 0, suspects: 0, large: 0, largeBytes: 0 }
    tenants.set(tenantId, own)
    for (const use of [all, own]) {
      use.messages += sign
      if (isSuspect) use.suspects += sign
      if (bytes < o.largeBytesMin) continue
      use.large += sign
      use.largeBytes += sign * bytes
    }
    if (own.messages === 0) tenants.delete(tenantId)
  }

  return {
    admit(due) {
      const admitted: (typeof due)[number][] = []
      for (const message of inTurns(due)) {
        const own = tenants.get(message.tenantId) ?? {
          messages: 0,
          suspects: 0,
          large: 0,
          largeBytes: 0,
        }
        if (!hasRoom(own, message)) continue
        change(message, 1)
        admitted.push(message)
      }
      return admitted
    },
    leave: (message) => change(message, -1),
    get isFull() {
      return all.messages >= o.messagesMax
    },
  }
}

/** The first of each tenant, then the second of each. */
function inTurns<M extends DueMessage>(due: readonly M[]): M[] {
  const places = new Map<string, number>()
  return due
    .map((message) => {
      const place = places.get(message.tenantId) ?? 0
      places.set(message.tenantId, place + 1)
      return { message, place }
    })
    .sort((a, b) => a.place - b.place)
    .map(({ message }) => message)
}
