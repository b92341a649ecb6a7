import { expect, it } from 'vitest'
import { describeAgent } from './describe-agent.ts'

const mozilla = 'Mozilla/5.0'
it.each([
  [
    `${mozilla} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36 Edg/120.0`,
    'Edge, Windows',
  ],
  [`${mozilla} (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0`, 'Firefox, Linux'],
  [
    `${mozilla} (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Mobile Safari/537.36`,
    'Chrome, Android',
  ],
  [
    `${mozilla} (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1`,
    'Safari, iPhone',
  ],
  [
    `${mozilla} (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)`,
    'Firefox, Windows',
  ],
  ['YahooMailProxy; https://help.example.com/', 'Yahoo image proxy'],
  [`${mozilla} (Macintosh; Intel Mac OS X 10_15_7)`, 'macOS'],
  ['curl/8.0', ''],
  ['', ''],
])('describes %s', (agent, described) => {
  expect(describeAgent(agent)).toBe(described)
})
