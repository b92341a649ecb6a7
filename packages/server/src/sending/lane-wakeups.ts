/**
 * Tells the sender of this process that a mailer has mail. A hint: whoever misses it finds the mail
 * at the next sweep.
 */
export interface WokenLane {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
}

export interface LaneWakeups {
  wake(lane: WokenLane): void
  onWake(listener: (lane: WokenLane) => void): () => void
}

export function createLaneWakeups(): LaneWakeups {
  const listeners = new Set<(lane: WokenLane) => void>()
  return {
    wake(lane) {
      for (const listener of listeners) listener(lane)
    },
    onWake(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
