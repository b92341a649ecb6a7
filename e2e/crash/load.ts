/**
 * The service's client in the crash test: several senders at once, each of which sends one mail after
 * another and asks again with the same key until it has an answer for good. Writes down everything
 * that it asked and was answered, before it asks and as soon as it is answered.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { NdjsonLog, Random } from '@postrider/testkit'
import type { Mail } from './mails.ts'
import type { Tenant } from './set-up.ts'

export interface Load {
  /** How many mails have been sent for good. */
  readonly sent: number
  /** Resolves when every mail begun has its answer, and no more will be begun. */
  finish(): Promise<void>
  /** Resolves when every mail has its answer. */
  complete(): Promise<void>
}

const SENDERS = 3
const PAUSE_MS = 150
const ANSWER_WITHIN_MS = 10_000
const ASK_AGAIN_AFTER_MS = 300
/** One accepted mail in so many is asked for once more, as a client does whose answer got lost. */
const REPEAT_ONE_IN = 8

export function startLoad(o: {
  readonly origin: string
  readonly tenants: ReadonlyMap<string, Tenant>
  readonly mails: readonly Mail[]
  readonly random: Random
  readonly log: NdjsonLog
}): Load {
  const queue = [...o.mails]
  let isFinished = false
  let sent = 0

  const ask = async (mail: Mail, apiKey: string): Promise<number | undefined> => {
    const { tenant, key, traceparent, request } = mail
    o.log.append({ fact: 'send.invoked', tenant, key, traceparent, request })
    try {
      const response = await fetch(`${o.origin}/v1/email/send`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': key,
          traceparent,
        },
        body: JSON.stringify(request),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      })
      const answer: unknown = await response.json()
      o.log.append({ fact: 'send.answered', tenant, key, status: response.status, answer })
      const code = (answer as { code?: string }).code
      const isPatience = response.status >= 500 || code === 'idempotency_in_progress'
      return isPatience ? undefined : response.status
    } catch (error) {
      o.log.append({ fact: 'send.lost', tenant, key, error: describe(error) })
      return undefined
    }
  }

  const sendForGood = async (mail: Mail): Promise<void> => {
    const apiKey = o.tenants.get(mail.tenant)?.apiKey ?? ''
    while ((await ask(mail, apiKey)) === undefined) await delay(ASK_AGAIN_AFTER_MS)
    sent += 1
    if (o.random.below(REPEAT_ONE_IN) === 0) {
      while ((await ask(mail, apiKey)) === undefined) await delay(ASK_AGAIN_AFTER_MS)
    }
  }

  const work = async (): Promise<void> => {
    while (!isFinished) {
      const mail = queue.shift()
      if (mail === undefined) return
      await sendForGood(mail)
      await delay(PAUSE_MS)
    }
  }
  const senders = Array.from({ length: SENDERS }, work)
  return {
    get sent() {
      return sent
    },
    async finish() {
      isFinished = true
      await Promise.all(senders)
    },
    async complete() {
      await Promise.all(senders)
    },
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
