/**
 * Waits for something to happen in the selected folder: in IDLE where the server does that, and until a
 * time in any case. Frequent notifications are joined: a storm of them causes one look.
 */
import type { ImapSession } from '../../mailers/index.ts'

export interface NewsWaiter {
  /** Resolves with what ended it; `idles` is whether the server may be asked to tell. */
  wait(o: { readonly ms: number; readonly idles: boolean }): Promise<'news' | 'time' | 'over'>
  /** Whether the server is known to refuse IDLE. */
  readonly refusesIdle: boolean
}

/** An IDLE that ends by itself at once, so often, is none. */
const SHORT_IDLES_MAX = 3
const SHORT_IDLE_MS = 1_000

export function createNewsWaiter(session: ImapSession, signal: AbortSignal): NewsWaiter {
  let hasNews = false
  let refusesIdle = !session.has('IDLE')
  let shortIdles = 0
  let tell: (() => void) | undefined
  const onNews = () => {
    hasNews = true
    tell?.()
  }
  session.onNews(onNews)

  function idle(): void {
    const startedMs = performance.now()
    void session.idle().then((isTaken) => {
      if (!isTaken) refusesIdle = true
      // What is done next ends it; here it has ended by itself.
      if (tell === undefined) return
      const isShort = performance.now() - startedMs < SHORT_IDLE_MS
      shortIdles = isShort ? shortIdles + 1 : 0
      if (shortIdles >= SHORT_IDLES_MAX) refusesIdle = true
      tell()
    })
  }

  return {
    get refusesIdle() {
      return refusesIdle
    },
    async wait({ ms, idles }) {
      const isOver = () => signal.aborted || !session.isOpen
      if (!hasNews && !isOver()) {
        const { promise: woken, resolve } = Promise.withResolvers<void>()
        tell = resolve
        const timer = setTimeout(resolve, ms)
        const stop = () => resolve()
        signal.addEventListener('abort', stop, { once: true })
        if (idles && !refusesIdle) idle()
        await woken
        tell = undefined
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
      }
      if (isOver()) return 'over'
      if (!hasNews) return 'time'
      hasNews = false
      return 'news'
    },
  }
}
