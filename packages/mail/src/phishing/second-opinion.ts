/** A scan with the opinion of Rspamd beside it; both at the same time. */
import type { Rspamd } from './ask-rspamd.ts'
import type { PhishingScanner } from './scanner.ts'
import { heaviest } from './signs.ts'

type Scanner = Pick<PhishingScanner, 'scan'>

export function withSecondOpinion(scanner: Scanner, rspamd: Rspamd): Scanner {
  return {
    async scan(caller, content) {
      const [result, opinion] = await Promise.all([
        scanner.scan(caller, content),
        rspamd.ask(content),
      ])
      if (result.kind !== 'scanned' || opinion === undefined) return result
      const signs = heaviest([...result.scan.signs, opinion])
      return { kind: 'scanned', scan: { ...result.scan, signs } }
    },
  }
}
