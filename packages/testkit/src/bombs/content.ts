/** What reads the content that tenants give: HTML and templates. */
import type { Material } from './bomb.ts'

export const html: Material = {
  frames: [
    ['', ''],
    ['<p>', '</p>'],
    ['<a href="', '">x</a>'],
    ['<a href="https://example.com/', '">x</a>'],
    ['<a ', '>x</a>'],
    ['<!--', ''],
    ['<style>', ''],
    ['<a href="https://example.com/">', '</a>'],
  ],
  units: [
    '<', '</', '<a', '</a', '<a>', '</a>', '<a href=', '<a href="', '<a href="https://example.com/">', '<a href=https://a.b/>x</a>', '<img alt="x">',
    '<img alt=', '<br>', '<p>', '</p>', '<div>', '</div>', '<ul><li>', '<ol>', '</ol>', '<table><tr><td>', '&', '&a', '&amp;', '&#', '&#x', '&#0;', '&#x10ffff;',
    '<!--', '-->', '--', '<!', '<![CDATA[', ']]>', '<?', '<script>', '</script', '<style>', '<title>', '<textarea>', '</body>', '</html>', '<pre>',
    '\n\n', 'https://', 'http://a.b ', 'www.', '\xe2\x80\x8c', '\xe2\x80\x8b', '\xc2\xad', 'unsubscri', '{{', '<%', ' href', '=a', ' a=b', '<svg>', '<blockquote>',
    '<form action=', '<base href="', '<meta http-equiv=refresh content="', 'url=',
  ], // biome-ignore format: a list
  pairs: [
    ['<div>', '</div>'],
    ['<a href="x">', '</a>'],
    ['<ul><li>', '</li></ul>'],
    ['<!--', '-->'],
    ['<pre>', '</pre>'],
    ['<svg>', '</svg>'],
    ['<table>', '</table>'],
  ],
}

export const liquid: Material = {
  frames: [
    ['', ''],
    ['{{ ', ' }}'],
    ['{% if ', ' %}a{% endif %}'],
    ['{{ "', '" | upcase }}'],
    ['{% for a in (1..1000000) %}', '{% endfor %}'],
    ['{% raw %}', ''],
  ],
  units: [
    '{{', '}}', '{%', '%}', '{{a}}', '{{ a }}', '{{ a.b }}', '{% if a %}', '{% endif %}', '{% for a in b %}', '{% endfor %}', '{% assign a = a %}',
    '{% capture a %}', '{% raw %}', '{% comment %}', '| upcase ', '| append: a ', '.a', '[0]', '["a"]', ' and a', ' or a', ' == a', '(1..9)', '"a', "'a", '{{-', '-}}',
    '{% case a %}', '{% when a %}', '| split: "" ', '{% include "a" %}', '{% cycle a, a %}',
  ], // biome-ignore format: a list
  pairs: [
    ['{% if a %}', '{% endif %}'],
    ['{% for a in b %}', '{% endfor %}'],
    ['{% capture a %}', '{% endcapture %}'],
    ['{{', '}}'],
    ['a[', ']'],
  ],
}
