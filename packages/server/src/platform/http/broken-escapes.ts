/**
 * Addresses with a `%` that begins no character, as programs make them that cut what they pass on.
 * No resource has such a name, so that most are simply not found; a route that takes anything is
 * given it as it stands.
 */
export interface BrokenEscapes {
  /** @param pattern of a route that takes anything; ends with `*` */
  add(pattern: string): void
  /** The target of a request, with every `%` of its path escaped where they mean nothing. */
  mend(target: string): string
}

export function createBrokenEscapes(): BrokenEscapes {
  const prefixes = new Set<string>()
  return {
    add: (pattern) => prefixes.add(pattern.replace(/\*$/, '')),
    mend(target) {
      if (!target.includes('%')) return target
      const [path = ''] = target.split(/[?#]/, 1)
      if (isReadable(path)) return target
      for (const prefix of prefixes)
        if (path.startsWith(prefix)) return path.replaceAll('%', '%25') + target.slice(path.length)
      return target
    },
  }
}

function isReadable(path: string): boolean {
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}
