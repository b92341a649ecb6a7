import { describe, expect, it } from 'vitest'
import { createUserAgentReader } from './read-user-agent.ts'

const read = createUserAgentReader()

describe('[2.5] a user agent', () => {
  it.each([
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
      ['Chrome', '142.0.0.0', 'Windows 10', 'desktop', 'Windows'],
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
      ['Safari', '18.1', 'iOS 18.1', 'mobile', 'iOS'],
    ],
    [
      'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0',
      ['Firefox', '132.0', 'Linux', 'desktop', 'Linux'],
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
      ['Chrome', '142.0.0.0', 'macOS', 'desktop', 'macOS'],
    ],
  ])('names browser, system and device: %s', (text, expected) => {
    const { browserName, browserVersion, os, deviceType, platform } = read(text)
    expect([browserName, browserVersion, os, deviceType, platform]).toEqual(expected)
  })

  it.each([
    [
      'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      ['Gmail', '', '', '', ''],
    ],
    [
      'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
      ['Yahoo Mail', '', '', '', ''],
    ],
    ['Mozilla/4.0 (compatible; ms-office; MSOffice rmj)', ['Outlook', '', '', '', '']],
    ['Mozilla/4.0 (compatible; ms-office; MSOffice 16)', ['Outlook', '16', '', '', '']],
    [
      'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17932; Pro), Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
      ['Outlook', '16.0.17932', 'Windows 10', 'desktop', 'Windows'],
    ],
    [
      'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; Microsoft Outlook 16.0.5161; ms-office; MSOffice 16)',
      ['Outlook', '16.0.5161', 'Windows 10', 'desktop', 'Windows'],
    ],
    [
      'Microsoft Office/16.0 (Macintosh; Intel Mac OS X 10.15.7; Microsoft Outlook 16.89.0)',
      ['Outlook', '16.89.0', 'macOS', 'desktop', 'macOS'],
    ],
    [
      'MacOutlook/16.89.24090815 (Intelx64 Mac OS X Version 14.6.1 (Build 23G93))',
      ['Outlook', '16.89.24090815', 'macOS', 'desktop', 'macOS'],
    ],
    ['Outlook-iOS/2.0', ['Outlook', '2.0', 'iOS', 'mobile', 'iOS']],
    ['Outlook-Android/2.0', ['Outlook', '2.0', 'Android', 'mobile', 'Android']],
    ['Outlook-iOS-Android/1.0', ['Outlook', '1.0', 'Android', 'mobile', 'Android']],
    ['Roundcube Webmail/1.6', ['Roundcube', '1.6', '', '', '']],
    [
      'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0',
      ['Thunderbird', '128.4.0', 'Linux', 'desktop', 'Linux'],
    ],
    ['eMClient/9.3.6041.0', ['eM Client', '9.3.6041.0', '', '', '']],
    [
      'WindowsMail/17.5.9600.22013',
      ['Windows Mail', '17.5.9600.22013', 'Windows', 'desktop', 'Windows'],
    ],
    ['Yahoo%20Mail/49268 CFNetwork/1121.2.2 Darwin/19.3.0', ['Yahoo Mail', '49268', '', '', '']],
    ['Barca/2.8.4400', ['Barca', '2.8.4400', '', '', '']],
    [
      'Outlook-iOS/709.2042344.prod.iphone (3.21.0)',
      ['Outlook', '709.2042344', 'iOS', 'mobile', 'iOS'],
    ],
    [
      'dv(iPh14,2);pr(UCBrowser/11.3.5.1203);ov(15_4);',
      ['UC Browser', '11.3.5.1203', 'iOS', 'mobile', 'iOS'],
    ],
    ['Mozilla/5.0 (compatible; Yahoo unsub)', ['', '', '', '', '']],
    ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', ['SlackBot', '1.0', '', '', '']],
  ])('names mail programs, and no system of a proxy: %s', (text, expected) => {
    const { browserName, browserVersion, os, deviceType, platform } = read(text)
    expect([browserName, browserVersion, os, deviceType, platform]).toEqual(expected)
  })

  it('is empty when it is missing or unknown', () => {
    for (const text of [undefined, '', 'x'])
      expect(read(text)).toMatchObject({
        text: text ?? '',
        browserVersion: '',
        os: '',
        platform: '',
      })
  })

  it('is read up to 512 characters, and once', () => {
    const long = `Mozilla/5.0 ${'x'.repeat(5000)}`
    expect(read(long).text).toBe(long.slice(0, 512))
    expect(read(`${long}y`)).toBe(read(long))
  })

  it('takes bounded time when it is made to take long', () => {
    for (const piece of ['(', 'Mozilla/', ' like ', 'a/1 ', '\u0000', 'Version/'])
      expect(read(piece.repeat(10_000)).text).toHaveLength(512)
  })
})
