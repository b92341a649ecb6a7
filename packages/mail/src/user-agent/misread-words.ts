/**
 * Words in the texts of people's browsers that a list of robots takes for a robot's: a telephone is named
 * "XBot Junior", a television "Google TV". They are left out before the list is asked; what is left of a
 * robot's text still names it.
 */
const MISREAD: readonly RegExp[] = [
  // The name of a device, which is the first part behind the system and the language.
  /(?<=^(?:Mozilla\/5\.0|Dalvik\/[\d.]+) \(Linux;(?: U;)? Android [\d.]+;)(?: [a-z]{2}[-_][a-z]{2};)?[^;)]*/i,
  /(?<=^Mozilla\/5\.0 \(SAMSUNG;)[^)]*/,
  /(?<= IEMobile\/[\d.]+; )[^)]*/,
  /Google ?TV/i,
  // Of televisions: the version of a standard, and of the browser.
  /\b(?:CE-HTML|NETTV|Freesat|webOS)\/1\.0(?=;)/gi,
  / OMI\/\S+/,
  // Of browsers, and of those within other programs.
  /Sogou(?:MSE|MobileBrowser|Search Android)/g,
  /\bQQDownload\b|\bchromeframe\b/,
  /AlipayDefined\([^)]*\)|@taobao_android_|Process\/tools/,
]

export function withoutMisread(text: string): string {
  return MISREAD.reduce((rest, word) => rest.replace(word, ''), text)
}
