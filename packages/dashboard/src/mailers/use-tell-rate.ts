import type { MailerActivity } from '@postrider/client'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { words } from './words.ts'

type Rate = MailerActivity['limits']['rates'][number]

/** How much of a limit is used, and how long mail waits for it: "27 of 30 a minute, waits 4 s". */
export function useTellRate(): (rate: Rate) => string {
  const text = useWords(words)
  const format = useFormat()
  return ({ name, limit, used, wait_ms }) => {
    const told = text.used(format.integer(used), format.integer(limit), text.limitNames[name])
    return wait_ms > 0 ? `${told}, ${text.waits(format.duration(wait_ms))}` : told
  }
}
