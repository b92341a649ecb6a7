/**
 * Whether a host imitates a brand's. Every test is a look-up by what the name folds to: its cost
 * does not grow with the number of brands, and content chooses how many hosts there are.
 *
 * Distance is handled with care: one letter away from a brand there are many honest names, so that
 * alone says little; what cannot be told apart by eye says much.
 */
import { type Brand, baitWords, brands } from './brands.ts'
import { domainsAbove, type HostName } from './host-name.ts'
import { type Sign, shown, sign } from './signs.ts'
import { foldLooks, foldScripts, mixedScripts } from './skeleton.ts'

/** Shorter names have too many honest neighbours. */
const LOOKS_CHARS_MIN = 5
const NEAR_CHARS_MIN = 6
const BAIT = new Set(baitWords)
const LABELS_MAX = 20

const byKey = new Map<string, Brand>()
const byLooks = new Map<string, Brand>()
const byNear = new Map<string, Brand>()
const byDomain = new Map<string, Brand>()
for (const brand of brands) {
  for (const domain of brand.domains) byDomain.set(domain, byDomain.get(domain) ?? brand)
  for (const key of brand.keys) {
    byKey.set(key, brand)
    byLooks.set(foldLooks(key), brand)
    if (key.length >= NEAR_CHARS_MIN && brand.isWord !== true)
      for (const near of oneLess(key)) byNear.set(near, brand)
  }
}

/** The brand to which a host belongs. */
export function brandOf({ host, label, hasKnownSuffix }: HostName): Brand | undefined {
  for (const domain of domainsAbove(host)) {
    const brand = byDomain.get(domain)
    if (brand !== undefined) return brand
  }
  const named = byKey.get(label)
  return named?.isEverywhere === true && hasKnownSuffix ? named : undefined
}

export function judgeHost(name: HostName): Sign[] {
  const { host } = name
  if (brandOf(name) !== undefined) return []
  const signs = [judgeLabel(name), ...judgeSubLabels(name)]
  const mixed = [...name.subLabels, name.label]
    .slice(0, LABELS_MAX)
    .find((l) => mixedScripts(l).length > 0)
  if (mixed !== undefined)
    signs.push(
      sign(
        'mixed_script_host',
        `the host ${shown(host)} mixes ${mixedScripts(mixed).join(' and ')} letters`,
      ),
    )
  return signs.filter((one) => one !== undefined)
}

/** Of the registered label. */
function judgeLabel({ host, label, subLabels }: HostName): Sign | undefined {
  const folded = foldScripts(label)
  const bare = folded.replaceAll('-', '')
  const exact = byKey.get(folded) ?? byKey.get(bare)
  if (folded !== label && exact !== undefined)
    return sign(
      'homograph_host',
      `the host ${shown(host)} imitates ${exact.name} with letters of another alphabet`,
    )
  // Its own name under a suffix that is not known to be its own.
  if (exact !== undefined && exact.isWord !== true && exact.isSocial !== true)
    return named(
      subLabels.some((one) => BAIT.has(one)) ? 'brand_bait_host' : 'brand_in_host',
      host,
      exact,
    )
  if (exact !== undefined) return undefined
  const looks = foldLooks(folded)
  const alike = looks.length >= LOOKS_CHARS_MIN ? byLooks.get(looks) : undefined
  if (alike !== undefined)
    return sign('imitated_host', `the host ${shown(host)} looks like ${alike.name}`)
  return judgeWords(host, folded) ?? judgeNear(host, bare)
}

/** paypal-login, secure-paypal, paypalsupport. */
function judgeWords(host: string, label: string): Sign | undefined {
  const words = label.split('-').slice(0, LABELS_MAX)
  for (const word of words) {
    const looks = foldLooks(word)
    const brand =
      byKey.get(word) ?? (looks.length >= LOOKS_CHARS_MIN ? byLooks.get(looks) : undefined)
    if (brand === undefined) continue
    if (words.some((other) => BAIT.has(other))) return named('brand_bait_host', host, brand)
    if (brand.isWord !== true && word.length >= LOOKS_CHARS_MIN)
      return named('brand_in_host', host, brand)
  }
  for (const word of words) {
    const glued = gluedBrand(word)
    if (glued !== undefined) return named('brand_bait_host', host, glued)
  }
  return undefined
}

/** A brand's name that a luring word is written on to. */
function gluedBrand(word: string): Brand | undefined {
  for (let at = 2; at <= Math.min(word.length - 2, 20); at += 1) {
    const [head, tail] = [word.slice(0, at), word.slice(at)]
    const brand = BAIT.has(head) ? byKey.get(tail) : BAIT.has(tail) ? byKey.get(head) : undefined
    if (brand !== undefined && brand.isWord !== true) return brand
  }
  return undefined
}

function judgeNear(host: string, label: string): Sign | undefined {
  if (label.length < NEAR_CHARS_MIN - 1 || label.length > 20) return undefined
  const candidates = [label, ...oneLess(label)].map((near) => byNear.get(near) ?? byKey.get(near))
  const brand = candidates.find((one) => one?.keys.some((key) => isOneEdit(key, label)))
  if (brand === undefined || brand.isWord === true) return undefined
  return sign('near_brand_host', `the host ${shown(host)} is one letter away from ${brand.name}`)
}

/** One character more, less, another, or two in turn. */
function isOneEdit(a: string, b: string): boolean {
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  const [inA, inB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  if (inA.length + inB.length <= 2 && Math.max(inA.length, inB.length) === 1) return true
  return inA.length === 2 && inB.length === 2 && inA[0] === inB[1] && inA[1] === inB[0]
}

/** Everything that is one character shorter: two names one change apart share one of these. */
function oneLess(label: string): string[] {
  return Array.from(label, (_, at) => label.slice(0, at) + label.slice(at + 1))
}

/** Before another's domain: paypal.com.example.net, and weaker paypal.example.net. */
function judgeSubLabels({ host, subLabels, label: registered }: HostName): (Sign | undefined)[] {
  const labels = subLabels.slice(0, LABELS_MAX)
  const signs: (Sign | undefined)[] = []
  for (const [at, label] of labels.entries()) {
    // Also paypal.com-login.example, whose registered label only begins like a suffix.
    const [next] = (labels[at + 1] ?? registered).split('-')
    const whole = byDomain.get(`${label}.${next}`)
    const folded = foldScripts(label)
    if (whole !== undefined && whole.isSocial !== true)
      signs.push(sign('embedded_brand_host', `the host ${shown(host)} begins like ${whole.name}'s`))
    else if (folded !== label && byKey.has(folded))
      signs.push(
        sign(
          'homograph_host',
          `the host ${shown(host)} imitates ${byKey.get(folded)?.name} with letters of another alphabet`,
        ),
      )
    else signs.push(judgeSubLabel(host, folded))
  }
  return signs
}

function judgeSubLabel(host: string, label: string): Sign | undefined {
  const brand = byKey.get(label)
  if (brand === undefined) {
    const words = judgeWords(host, label)
    return words?.kind === 'brand_bait_host' ? words : undefined
  }
  return brand.isWord === true || brand.isSocial === true
    ? undefined
    : named('brand_in_host', host, brand)
}

function named(kind: 'brand_in_host' | 'brand_bait_host', host: string, brand: Brand): Sign {
  return sign(kind, `the host ${shown(host)} uses the name of ${brand.name}`)
}

/** The guarded brand that a sender's name claims to be. */
export function brandOfName(name: string): Brand | undefined {
  const folded = foldScripts(name.normalize('NFKC').toLowerCase())
    .replaceAll(/[^\p{L}\p{N}&+.-]+/gu, ' ')
    .trim()
  return namePrefixes(folded)
    .map((prefix) => byName.get(prefix))
    .find(Boolean)
}

const byName = new Map<string, Brand>()
for (const brand of brands) for (const name of brand.names ?? brand.keys) byName.set(name, brand)

/** Its first one to five words. */
function namePrefixes(name: string): string[] {
  const words = name.split(' ', 5)
  return words.map((_, n) => words.slice(0, n + 1).join(' '))
}
