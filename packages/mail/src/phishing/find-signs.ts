/** The signs of phishing in what was read of a mail. Pure, and linear in what was read. */

import { type Brand, shortenerDomains, trackerDomains } from './brands.ts'
import type { ScannedContent } from './content.ts'
import { type FoundAddress, findAddresses } from './find-addresses.ts'
import { domainsAbove, type HostName, readHostName } from './host-name.ts'
import { brandOf, brandOfName } from './judge-host.ts'
import type { KnownHosts } from './known-hosts.ts'
import { type Address, readAddress, type WebAddress } from './read-address.ts'
import type { HtmlFacts, HtmlLink } from './read-html.ts'
import { type Sign, shown, sign } from './signs.ts'

/** More of them than any mail for people has. */
const HOSTS_MAX = 2_000
const RELATED_CHARS_MIN = 4
/** Within a link within a link nobody is led. */
const INNER_DEPTH_MAX = 2

export interface SignFinder {
  addSender(from: ScannedContent['from']): void
  addHtml(facts: HtmlFacts): void
  addText(text: string): void
  readonly signs: readonly Sign[]
  readonly hosts: readonly string[]
  /** More than is looked at. */
  readonly isCut: boolean
}

/** A mail with so many links, most of which lead to one domain, goes through a click tracker. */
const TRACKED_MIN = 5
const TRACKED_SHARE = 0.6

interface ShownLink {
  readonly found: FoundAddress
  /** What the reader sees, and where it leads. */
  readonly seen: HostName
  readonly to: HostName
}

export function createSignFinder(knownHosts: KnownHosts, from: ScannedContent['from']): SignFinder {
  const signs: Sign[] = []
  const hosts = new Set<string>()
  const sender = nameOf(from.address.slice(from.address.lastIndexOf('@') + 1).toLowerCase())
  const shownLinks = createShownLinks(sender)
  let isCut = false

  function nameOf(host: string): HostName {
    const known = knownHosts.get(host)
    if (hosts.has(host)) return known
    if (hosts.size >= HOSTS_MAX) isCut = true
    else hosts.add(host)
    for (const one of known.signs) signs.push(one)
    return known
  }

  /** Notes what an address itself says. Undefined unless it leads to a site. */
  function noteAddress(text: string, base?: string, depth = 0): WebAddress | undefined {
    const address = readAddress(text, base)
    if (address.kind === 'web') return noteWeb(address, depth)
    const own = UNSAFE[address.kind]
    if (own !== undefined) signs.push(own)
    return undefined
  }

  function noteWeb(address: WebAddress, depth = 0): WebAddress {
    const { host, inner } = address
    nameOf(host)
    for (const one of addressSigns(address)) signs.push(one)
    if (inner.length === 0 || depth >= INNER_DEPTH_MAX) return address
    signs.push(sign('link_in_link', `an address within a link to ${shown(host)}`))
    for (const one of inner) noteAddress(one, undefined, depth + 1)
    return address
  }

  function noteLink({ href, text }: HtmlLink, base: string | undefined): void {
    const target = noteAddress(href, base)
    if (target === undefined) return
    const to = nameOf(target.host)
    const shownHosts = findAddresses(text).found.map((found) => ({
      found,
      seen: nameOf(found.address.host),
    }))
    shownLinks.add(to, shownHosts)
  }

  return {
    addSender({ name = '' }) {
      signs.push(...senderSigns(name, sender))
    },
    addHtml(facts) {
      if (facts.isCut) isCut = true
      const { base } = facts
      if (base !== undefined) noteAddress(base)
      for (const link of facts.links) noteLink(link, base)
      signs.push(...shownLinks.judge())
      for (const source of facts.sources) noteSource(source)
      signs.push(...formSigns(facts))
      for (const action of facts.formActions) {
        const target = noteAddress(action, base)
        if (target !== undefined && !isOf(sender, nameOf(target.host)))
          signs.push(sign('form_elsewhere', `a form sends to ${shown(target.host)}`))
      }
      for (const refresh of facts.refreshes)
        if (noteAddress(refresh, base) !== undefined)
          signs.push(sign('refresh', 'the mail leads away by itself'))
      noteText(facts.text)
    },
    addText: noteText,
    signs,
    get hosts() {
      return [...hosts]
    },
    get isCut() {
      return isCut
    },
  }

  /** Pictures are only looked at for whose they are: none of them leads a reader anywhere. */
  function noteSource(source: string): void {
    const address = readAddress(source)
    if (address.kind === 'web') nameOf(address.host)
  }

  function noteText(text: string): void {
    const addresses = findAddresses(text)
    if (addresses.isCut) isCut = true
    for (const { address } of addresses.found) noteWeb(address)
  }
}

/** What links show beside where they lead: judged when all links are known. */
function createShownLinks(sender: HostName) {
  const shownLinks: ShownLink[] = []
  const linksTo = new Map<string, number>()
  /** Domains that stand for others in this mail: a link to the sender's own site leads there, or most do. */
  const trackers = new Set<string>()
  let links = 0

  function mismatch({ found, seen, to: target }: ShownLink): Sign[] {
    if (seen.domain === target.domain) return []
    const brand = brandOf(seen)
    // The brand's own redirectors and sister sites.
    if (brand !== undefined && brand === brandOf(target)) return []
    const reason = `a link shows ${shown(seen.host)} and leads to ${shown(target.host)}`
    const isExpected =
      isOf(sender, target) || trackers.has(target.domain) || isAmong(target.host, trackerDomains)
    if (brand === undefined || brand.isSocial === true || isOf(sender, seen))
      return isExpected ? [] : [sign('link_elsewhere', reason)]
    if (isExpected || !found.isAddress) return [sign('brand_named_link_elsewhere', reason)]
    return [sign('brand_link_elsewhere', reason)]
  }

  return {
    add(to: HostName, shownHosts: readonly Pick<ShownLink, 'found' | 'seen'>[]): void {
      linksTo.set(to.domain, (linksTo.get(to.domain) ?? 0) + 1)
      links += 1
      for (const { found, seen } of shownHosts) {
        if (isOf(sender, seen)) trackers.add(to.domain)
        if (seen.host !== to.host) shownLinks.push({ found, seen, to })
      }
    },
    judge(): Sign[] {
      for (const [domain, count] of linksTo)
        if (count >= TRACKED_MIN && count >= links * TRACKED_SHARE) trackers.add(domain)
      return shownLinks.splice(0).flatMap(mismatch)
    },
  }
}

/** The sender's own domain, or one with its name: example.com and example-mail.net. */
function isOf(sender: HostName, { domain, label }: HostName): boolean {
  if (domain === sender.domain) return true
  const [short, long] = [label, sender.label].sort((a, b) => a.length - b.length)
  return short !== undefined && short.length >= RELATED_CHARS_MIN && long?.includes(short) === true
}

const UNSAFE: Readonly<Partial<Record<Address['kind'], Sign>>> = {
  script: sign('script_link', 'a link runs a script'),
  data: sign('data_link', 'a link holds a page of its own'),
  file: sign('file_link', 'a link opens a file'),
  overlong: sign('overlong_link', 'a link is too long to be looked at'),
}

const HOST_AT_START = /^[^/?#]*[\p{L}\p{N}-]\.[\p{L}]{2,}/u

function addressSigns({ host, isNumeric, isDisguised, user }: WebAddress): Sign[] {
  const signs: Sign[] = []
  if (isDisguised)
    signs.push(sign('disguised_address', `a link disguises the address ${shown(host)}`))
  else if (isNumeric) signs.push(sign('numeric_host', `a link leads to the address ${shown(host)}`))
  if (user.includes('@') || HOST_AT_START.test(user.slice(0, 300)))
    signs.push(
      sign('host_before_at', `a link begins like ${shown(user)} and leads to ${shown(host)}`),
    )
  else if (user !== '') signs.push(sign('user_before_at', `a link to ${shown(host)} holds a login`))
  if (isAmong(host, shortenerDomains))
    signs.push(sign('short_link', `a short link hides where it leads: ${shown(host)}`))
  return signs
}

function formSigns({ hasPasswordField, hasSecretField }: HtmlFacts): Sign[] {
  if (hasPasswordField) return [sign('password_field', 'the mail asks for a password')]
  return hasSecretField ? [sign('secret_field', 'the mail asks for a card number or a code')] : []
}

function senderSigns(name: string, sender: HostName): Sign[] {
  const brand = brandOfName(name)
  const signs: Sign[] = []
  if (brand !== undefined && isGuarded(brand) && brandOf(sender) !== brand)
    signs.push(
      sign('brand_sender', `the sender is called ${shown(brand.name)} at ${shown(sender.host)}`),
    )
  const host = /@([^\s@<>"]{1,253})/.exec(name.slice(0, 1_000))?.[1]?.toLowerCase()
  if (host !== undefined) {
    const claimed = readHostName(host)
    if (claimed.hasKnownSuffix && claimed.domain !== sender.domain) {
      const guarded = brandOf(claimed)
      const kind =
        guarded !== undefined && isGuarded(guarded) ? 'brand_sender' : 'address_in_sender'
      signs.push(sign(kind, `the sender's name holds an address of ${shown(claimed.domain)}`))
    }
  }
  return signs
}

function isGuarded(brand: Brand): boolean {
  return brand.isSocial !== true
}

function isAmong(host: string, domains: ReadonlySet<string>): boolean {
  return domainsAbove(host).some((domain) => domains.has(domain))
}
