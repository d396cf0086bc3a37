package rewrite

// mayChange reports whether a function is called here that is not known to
// change nothing: a user's own may, in engines whose functions can write.
func (p *parser) mayChange() bool {
	if !p.d.Numbering.Writing || !p.nextIsPunct('(') {
		return false
	}
	if p.tok.kind == tokQuoted || p.prev > 0 && p.q[p.prev-1] == '.' {
		return true
	}
	name := p.text(p.tok)
	if notCalls.has(name) {
		return false
	}
	if p.d.Lexis.UserVariables {
		return !bracketWords.has(name) && !builtins.has(name)
	}
	return !harmless.has(name)
}

// notCalls are words that a bracket may follow in a query without being a
// call.
var notCalls = newWordSet(`select from where and or not in exists any all some as on using over values value by
	having when then else case between like ilike union except intersect distinct limit offset fetch interval
	join lateral partition order group with filter within row array cast materialized is escape only top percent
	table tables index key force use ignore rollup cube sets grouping returning set if`)

// harmless are functions of PostgreSQL that queries often call and that change
// nothing that matters, and its types, which a bracket may follow too:
// PostgreSQL 18, chapter 9. A sequence that counts on leaves a gap.
var harmless = newWordSet(`abs age array_agg array_append array_cat array_length array_position array_prepend
	array_remove array_replace array_to_json array_to_string avg bit bit_and bit_or bool_and bool_or btrim cardinality
	cbrt ceil ceiling char char_length character character_length chr clock_timestamp coalesce concat concat_ws
	convert_from convert_to count cume_dist current_database current_date current_schema current_setting current_time
	current_timestamp current_user date date_bin date_part date_trunc dec decimal decode degrees dense_rank div
	encode every exp extract first_value float floor format gen_random_bytes gen_random_uuid generate_series greatest
	hstore initcap isfinite json_agg json_array_elements json_array_elements_text json_array_length json_build_array
	json_build_object json_each json_each_text json_object json_object_agg json_object_keys json_to_record
	json_to_recordset jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
	jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg
	jsonb_object_keys jsonb_populate_record jsonb_populate_recordset jsonb_set jsonb_strip_nulls jsonb_to_record
	jsonb_to_recordset justify_days lag last_value lcase lead least left length ln localtime localtimestamp log lower
	lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz max md5 min mod mode now nth_value
	ntile nullif num_nonnulls num_nulls numeric octet_length overlay percent_rank percentile_cont percentile_disc pi
	position power quote_ident quote_literal radians random rank regexp_match regexp_matches regexp_replace
	regexp_split_to_array regexp_split_to_table repeat replace reverse right round row_number row_to_json rpad rtrim
	sha224 sha256 sha384 sha512 sign split_part sqrt statement_timestamp stddev string_agg string_to_array
	string_to_table strpos substr substring sum timeofday timestamp timestamptz to_char to_date to_json to_jsonb
	to_number to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim trunc unnest upper uuid
	uuid_generate_v4 uuidv4 uuidv7 var_pop var_samp varbit varchar variance width_bucket xmlelement nextval currval
	lastval`)
