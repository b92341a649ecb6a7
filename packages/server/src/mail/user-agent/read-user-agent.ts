/**
 * What a User-Agent header says of its sender (interface §2.5), and whether it names a known robot.
 *
 * Readings are kept, since a few thousand different texts make up nearly all traffic and one reading
 * costs as much as the rest of a request. Bowser knows browsers, isbot robots; both see at most 512
 * characters.
 */
import bowser from 'bowser'
import { isbot } from 'isbot'
import { createBoundedMap } from '../../platform/bounded-map.ts'

export const userAgentCharactersMax = 512

export interface UserAgent {
  /** As sent, up to 512 characters. */
  readonly text: string
  /** Of each, '' where it is not known: `Chrome`, `142.0.0.0`. */
  readonly browserName: string
  readonly browserVersion: string
  /** With its version where browsers tell it: `Windows 10`, `iOS 18.1`, `macOS`. */
  readonly os: string
  /** `desktop`, `mobile`, `tablet`, `tv` or `bot`. */
  readonly deviceType: string
  /** The system's family: `Windows`, `macOS`, `iOS`, `Android`, `Linux`. */
  readonly platform: string
  /** By isbot alone, which takes mail providers' image proxies for robots. */
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
  // Bowser refuses an empty text.
  const { browser, os, platform } = bowser.parse(text === '' ? '-' : text)
  return {
    text,
    browserName: browser.name ?? '',
    browserVersion: browser.version ?? '',
    os: [os.name, versionOf(os)].filter(Boolean).join(' '),
    deviceType: platform.type ?? '',
    platform: os.name ?? '',
    isKnownRobot: isbot(text),
  }
}

/** Browsers on every macOS since 11 call it 10.15.7. */
const FROZEN_MACOS = '10.15.7'

function versionOf({ version, versionName }: bowser.Parser.OSDetails): string | undefined {
  return version === FROZEN_MACOS ? undefined : (versionName ?? version)
}
