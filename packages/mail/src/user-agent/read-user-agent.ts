/**
 * What a User-Agent header says of its sender (docs/reference/events.md#tracking), and whether it names a
 * known robot.
 *
 * Readings are kept, since a few thousand different texts make up nearly all traffic and one reading
 * costs as much as the rest of a request. Bowser knows browsers, isbot robots, and neither of them
 * mail programs; they see at most 512 characters.
 */

import { createBoundedMap } from '@postrider/runtime/bounded-map'
import bowser from 'bowser'
import { isbot } from 'isbot'
import { type MailProgram, mailPrograms } from './mail-programs.ts'
import { withoutMisread } from './misread-words.ts'

export const userAgentCharactersMax = 512

export interface UserAgent {
  /** As sent, up to 512 characters. */
  readonly text: string
  /** Of each, '' where it is not known: `Chrome`, `142.0.0.0`; of a mail program `Outlook`, `16.0`. */
  readonly browserName: string
  readonly browserVersion: string
  /** With its version where browsers tell it: `Windows 10`, `iOS 18.1`, `macOS`. */
  readonly os: string
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly deviceType: string
  /** The system's family: `Windows`, `macOS`, `iOS`, `Android`, `Linux`. */
  readonly platform: string
  /** Mail providers' image proxies among them, which for opens stand for a person. */
  readonly isKnownRobot: boolean
}

const READINGS_MAX = 10_000

export function createUserAgentReader(): (header: string | undefined) => UserAgent {
  const readings = createBoundedMap<string, UserAgent>(READINGS_MAX)
  return (header = '') => {
    const text = header.slice(0, userAgentCharactersMax)
    const known = readings.get(text)
    if (known !== undefined) return known
    const reading = readUserAgent(text)
    readings.set(text, reading)
    return reading
  }
}

function readUserAgent(text: string): UserAgent {
  const browser = readBrowser(text)
  const program = mailPrograms.find(({ pattern }) => pattern.test(text))
  return program === undefined ? browser : withProgram(browser, program)
}

function readBrowser(text: string): UserAgent {
  // Bowser refuses an empty text.
  const { browser, os, platform } = bowser.parse(text === '' ? '-' : text)
  const { name = '', version = '' } = browser.name === NO_NAME ? {} : browser
  return {
    text,
    browserName: name,
    browserVersion: version,
    os: [os.name, versionOf(os)].filter(Boolean).join(' '),
    deviceType: DEVICES.has(platform.type) ? (platform.type ?? '') : '',
    platform: os.name ?? '',
    isKnownRobot: isbot(withoutMisread(text)),
  }
}

/** What every text begins with, and the name of none that is in use. */
const NO_NAME = 'Mozilla'
/** Not its `bot`: whether it is one is decided by other rules. */
const DEVICES: ReadonlySet<string | undefined> = new Set(['desktop', 'mobile', 'tablet', 'tv'])

function withProgram(
  browser: UserAgent,
  { name, pattern, system, isProxy }: MailProgram,
): UserAgent {
  const { text } = browser
  if (isProxy)
    return {
      text,
      browserName: name,
      browserVersion: '',
      os: '',
      deviceType: '',
      platform: '',
      isKnownRobot: browser.isKnownRobot,
    }
  const { name: systemName, deviceType } = system ?? {
    name: browser.platform,
    deviceType: browser.deviceType,
  }
  return {
    text,
    browserName: name,
    browserVersion: pattern.exec(text)?.[1] ?? '',
    os: system === undefined ? browser.os : systemName,
    deviceType,
    platform: systemName,
    // A robot that calls itself a mail program says where to read about it.
    isKnownRobot: HAS_URL.test(text),
  }
}

const HAS_URL = /https?:\/\//

/** Browsers on every macOS since 11 call it 10.15.7. */
const FROZEN_MACOS = '10.15.7'

function versionOf({ version, versionName }: bowser.Parser.OSDetails): string | undefined {
  return version === FROZEN_MACOS ? undefined : (versionName ?? version)
}
