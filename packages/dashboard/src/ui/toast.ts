/** A short word at the edge: what was done, or what failed. */
import { notifications } from '@mantine/notifications'
import { currentLanguage } from '../words/language.ts'
import { describeFailure, type FailedWhat } from './answers.tsx'
import { words } from './words.ts'

export function tellDone(message: string): void {
  const closeButtonProps = { 'aria-label': words[currentLanguage()].close }
  notifications.show({ message, color: 'var(--good-fill)', autoClose: 4_000, closeButtonProps })
}

/** Of a mutation: `onError: tellFailed('save')`. */
export function tellFailed(what: FailedWhat): (error: unknown) => void {
  return (error) => showFailure(what, error)
}

function showFailure(what: FailedWhat, error: unknown): void {
  const text = words[currentLanguage()]
  const { message, requestId } = describeFailure(error, text.offline)
  const request = requestId === undefined ? '' : ` (${text.requestId} ${requestId})`
  notifications.show({
    title: text.failed[what],
    message: message + request,
    color: 'var(--bad-fill)',
    autoClose: 12_000,
    closeButtonProps: { 'aria-label': text.close },
  })
}
