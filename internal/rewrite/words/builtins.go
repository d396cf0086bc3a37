package words

import (
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// BracketWords are the words of MySQL's and MariaDB's grammar that may stand before a
// bracket in an INSERT without calling a function.
var BracketWords = scan.NewWordSet(bracketList)

// bracketList holds the words of [BracketWords].
const bracketList = `values value row partition in and or not xor like rlike regexp div mod between
	case when then else interval binary as returning `

// Builtins are functions of MySQL and MariaDB that INSERTs often call and that read nothing
// of the last statement: MySQL 8.4, chapter 14. A function that is missing here only costs
// the session's LAST_INSERT_ID(), which keyfill does not set if the INSERT calls it.
var Builtins = scan.NewWordSet(builtinList)

// builtinList holds the words of [Builtins].
const builtinList = `
	now current_timestamp localtime localtimestamp sysdate curdate current_date curtime current_time
	utc_date utc_time utc_timestamp unix_timestamp from_unixtime from_days to_days to_seconds
	date time timestamp datetime year month day hour minute second microsecond date_add date_sub adddate
	subdate addtime subtime datediff timediff timestampadd timestampdiff date_format time_format
	str_to_date makedate maketime sec_to_time time_to_sec last_day convert_tz
	uuid uuid_short uuid_to_bin bin_to_uuid rand
	coalesce ifnull nullif if greatest least default values value isnull
	concat concat_ws lower lcase upper ucase trim ltrim rtrim left right substring substr substring_index
	mid replace repeat reverse lpad rpad space insert instr locate position field elt char ascii ord
	length char_length character_length bit_length octet_length format quote
	hex unhex to_base64 from_base64 md5 sha sha1 sha2 crc32 aes_encrypt aes_decrypt compress uncompress
	random_bytes bin oct conv bit_count
	cast convert binary signed unsigned decimal char nchar varchar double float
	json_object json_array json_quote json_unquote json_extract json_set json_insert json_replace
	json_remove json_merge json_merge_patch json_merge_preserve json_array_append json_compact json_valid
	abs ceil ceiling floor round truncate mod pow power sqrt exp ln log log2 log10 sign pi
	sin cos tan asin acos atan atan2 radians degrees
	user current_user session_user system_user database schema connection_id version nextval
	inet_aton inet_ntoa inet6_aton inet6_ntoa is_uuid
	point linestring polygon multipoint multilinestring multipolygon geometrycollection
	st_geomfromtext st_geometryfromtext st_geomfromwkb st_geomfromgeojson st_pointfromtext
	st_pointfromwkb st_linefromtext st_polyfromtext st_polygonfromtext st_srid st_point
	pointfromtext geomfromtext
	count max min sum avg std stddev stddev_pop stddev_samp variance var_pop var_samp bit_and bit_or bit_xor
	group_concat json_arrayagg json_objectagg any_value
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value`

// ScalarFunctions are functions of PostgreSQL, besides [Builtins], that INSERTs often call
// and that return one value, never a set of rows. If a query calls any other function,
// keyfill counts the rows of the query. If the application has its own function of such a
// name, and it returns a set, the engine refuses the statement.
var ScalarFunctions = scan.NewWordSet(`
	clock_timestamp statement_timestamp transaction_timestamp timeofday to_timestamp to_date to_char to_number
	date_trunc date_part date_bin extract age make_date make_time make_timestamp make_timestamptz make_interval
	gen_random_uuid gen_random_bytes uuidv4 uuidv7 uuid_generate_v1 uuid_generate_v4 random digest hmac crypt gen_salt
	nextval currval lastval current_setting txid_current pg_backend_pid
	overlay strpos split_part btrim initcap format starts_with regexp_replace translate chr encode decode convert_to
	convert_from sha224 sha256 sha384 sha512 quote_literal quote_ident
	to_json to_jsonb json_build_object json_build_array jsonb_build_object jsonb_build_array jsonb_set jsonb_insert
	jsonb_strip_nulls row_to_json array_to_json json_agg jsonb_agg json_object_agg jsonb_object_agg
	array_length array_append array_prepend array_cat array_remove array_to_string string_to_array cardinality
	array_agg string_agg bool_and bool_or every to_tsvector to_tsquery plainto_tsquery numeric decimal varchar char
	daterange tsrange tstzrange int4range int8range numrange host inet_client_addr width_bucket trunc sign`)

// NotCalls are words that may stand before a bracket in a query without calling a
// function.
var NotCalls = scan.NewWordSet(notCallList)

// notCallList holds the words of [NotCalls].
const notCallList = `select from where and or not in exists any all some as on using over values value by
	having when then else case between like ilike union except intersect distinct limit offset fetch interval
	join lateral partition order group with filter within row array cast materialized is escape only top percent
	table tables index key force use ignore rollup cube sets grouping returning set if`
