/**
 * Questions to the name servers, by c-ares: they are asked in turn, each with a time-out, and a
 * lookup as a whole has an end.
 *
 * `getaddrinfo` would occupy one of libuv's few threads for as long as a name server is silent; c-ares
 * needs no thread. Each lookup has a resolver of its own: its own random source port, its own
 * time-outs (a shared one adapts them to how fast other names answered) and its own end. It also
 * follows a resolv.conf that changes. Names are asked for as they stand, without search domains.
 */
import { Resolver } from 'node:dns/promises'

const TRY_MS = 2_000
const TRIES = 2
/** Several silent name servers are asked one after the other: nobody waits that long. */
const LOOKUP_MS_MAX = 10_000
const LOOKUPS_MAX = 1_000

/** `busy`: too many are under way, or there is no file descriptor. `stopped`: nobody waits any more, or the service ends. */
export type Asked<T> =
  | { readonly kind: 'asked'; readonly result: T }
  | { readonly kind: 'busy' }
  | { readonly kind: 'stopped' }

export interface NameServers {
  /** Rejects as the questions do; those are cancelled when the time is over. */
  ask<T>(questions: (resolver: Resolver) => Promise<T>, signal?: AbortSignal): Promise<Asked<T>>
  /** Ends the lookups under way; later ones are stopped at once. */
  close(): void
}

export interface NameServersOptions {
  /** Addresses with ports; the system's when absent. */
  readonly servers?: readonly string[] | undefined
  readonly lookupsMax?: number | undefined
  /** Without one a name server looks as if it refused the connection. */
  readonly descriptors?: { areOut(): boolean } | undefined
  readonly tryMs?: number | undefined
  readonly lookupMsMax?: number | undefined
}

export function createNameServers(o: NameServersOptions = {}): NameServers {
  const { servers, lookupsMax = LOOKUPS_MAX, tryMs = TRY_MS, lookupMsMax = LOOKUP_MS_MAX } = o
  const underWay = new Set<Resolver>()
  let isClosed = false

  return {
    async ask(questions, signal) {
      if (isClosed || signal?.aborted === true) return { kind: 'stopped' }
      if (underWay.size >= lookupsMax || o.descriptors?.areOut() === true) return { kind: 'busy' }
      const resolver = new Resolver({ timeout: tryMs, maxTimeout: tryMs, tries: TRIES })
      if (servers !== undefined) resolver.setServers(servers)
      underWay.add(resolver)
      const cancel = () => resolver.cancel()
      const timer = setTimeout(cancel, lookupMsMax)
      signal?.addEventListener('abort', cancel, { once: true })
      try {
        const result = await questions(resolver)
        return isClosed ? { kind: 'stopped' } : { kind: 'asked', result }
      } catch (error) {
        if (isClosed) return { kind: 'stopped' }
        throw error
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', cancel)
        underWay.delete(resolver)
      }
    },
    close() {
      isClosed = true
      for (const resolver of underWay) resolver.cancel()
    },
  }
}
