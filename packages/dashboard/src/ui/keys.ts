/** Keys of a screen: single ones, and two after another (`g e`). Never while somebody types. */
import { useEffect, useRef } from 'react'

export type KeyMap = Readonly<Record<string, (() => void) | undefined>>

const sequenceMs = 1_000
let first = ''
let firstAtMs = 0

export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event.target)) return
      const isSecond = first !== '' && event.timeStamp - firstAtMs < sequenceMs
      const run =
        (isSecond ? latest.current[`${first} ${event.key}`] : undefined) ??
        latest.current[event.key]
      if (run === undefined) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}

/** Once for the page: remembers the key before. */
export function rememberFirstKeys(): () => void {
  function onKeyDown(event: KeyboardEvent): void {
    if (isTyping(event.target) || event.key.length !== 1) return
    // After those of the screens, which look at the key before.
    queueMicrotask(() => {
      first = event.key
      firstAtMs = event.timeStamp
    })
  }
  document.addEventListener('keydown', onKeyDown)
  return () => document.removeEventListener('keydown', onKeyDown)
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest('[role="dialog"]') !== null
  )
}
