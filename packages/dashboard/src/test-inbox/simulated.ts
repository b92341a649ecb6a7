/** What recipients of test mail can be made to do, and whether they can now. */
import type { EmailLog, SimulateEventBody } from '@postrider/client'

export type SimulatedEvent = SimulateEventBody['event']

export const simulatedEvents = [
  ...['open', 'click', 'bounce', 'complaint'],
] as const satisfies readonly SimulatedEvent[]

/** Only delivered mail gets events. */
export function isDelivered(status: EmailLog['status']): boolean {
  return status === 'delivered' || status === 'sent'
}

/** How long after a press the events of the mail are asked for, and how often. */
const askedForMs = 20_000
export const askEveryMs = 1_500

/** `pressedAt`: when somebody pressed a button last; undefined: nobody did. */
export function askAgainIn(pressedAtMs: number | undefined, nowMs: number): number | false {
  return pressedAtMs !== undefined && nowMs - pressedAtMs < askedForMs && askEveryMs
}
